/** The terminal as the agent needs it; a test can take its place. */
export interface Terminal {
  readonly cols: number;
  readonly rows: number;
  write(text: string): void;
  /** Switches to raw mode and passes on input until `close`. */
  open(on: { readonly data: (bytes: Uint8Array) => void; readonly resize: () => void; readonly end: () => void }): void;
  /** Stops reading permanently, like a hanging program. */
  freeze(): void;
  close(): void;
}

type Input = Pick<NodeJS.ReadStream, "on" | "off" | "setRawMode" | "resume" | "pause">;
type Screen = Pick<NodeJS.WriteStream, "on" | "off" | "write" | "columns" | "rows">;

/** The controlling terminal of this process. */
export class ProcessTerminal implements Terminal {
  readonly #input: Input;
  readonly #screen: Screen;
  #close: () => void = () => {};

  constructor(input: Input, screen: Screen) {
    this.#input = input;
    this.#screen = screen;
  }

  get cols(): number {
    return Math.max(10, this.#screen.columns);
  }

  get rows(): number {
    return Math.max(4, this.#screen.rows);
  }

  write(text: string): void {
    if (text !== "") this.#screen.write(text);
  }

  open(on: Parameters<Terminal["open"]>[0]): void {
    const input = this.#input;
    const screen = this.#screen;
    const onError = () => on.end();
    input.setRawMode(true);
    input.on("data", on.data);
    input.on("end", on.end);
    input.on("error", onError);
    screen.on("resize", on.resize);
    input.resume();
    this.#close = () => {
      input.off("data", on.data);
      input.off("end", on.end);
      input.off("error", onError);
      screen.off("resize", on.resize);
      input.setRawMode(false);
      input.pause();
    };
  }

  freeze(): void {
    this.#input.pause();
  }

  close(): void {
    this.#close();
    this.#close = () => {};
  }
}
