import { writeSync } from "node:fs";
import { ENTER, LEAVE } from "../../internal/terminal/attach-painter.ts";

/** What of a process the terminal in front of it needs. */
export interface TerminalHost {
  readonly pid: number;
  on(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
  kill(pid: number, signal: NodeJS.Signals): unknown;
}

export interface TerminalStreams {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream & { readonly fd?: number };
}

/**
 * The person's terminal while they are attached: keys come one by one, and what they had on it before is kept aside. Disposing
 * gives it back as it was; so do the end of the process, whatever the reason, and being stopped (SIGTSTP) until it goes on.
 */
export class AttachTerminal implements Disposable {
  readonly #streams: TerminalStreams;
  readonly #host: TerminalHost;
  readonly #listeners: Readonly<Record<string, () => void>>;
  #isEntered = false;

  /** `onReturn`: the terminal was given away for a while, and everything must be drawn anew. */
  constructor(streams: TerminalStreams, onReturn: () => void, host: TerminalHost = process) {
    this.#streams = streams;
    this.#host = host;
    this.#listeners = {
      exit: () => this.#leave(),
      SIGTSTP: () => {
        this.#leave();
        host.kill(host.pid, "SIGSTOP");
      },
      SIGCONT: () => {
        this.#enter();
        onReturn();
      },
    };
    for (const [event, listener] of Object.entries(this.#listeners)) host.on(event, listener);
    this.#enter();
  }

  [Symbol.dispose](): void {
    for (const [event, listener] of Object.entries(this.#listeners)) this.#host.off(event, listener);
    this.#leave();
    this.#streams.stdin.pause();
  }

  #enter(): void {
    // Whoever stopped us may have let others use the terminal: set it again in any case.
    if (this.#isEntered) this.#streams.stdin.setRawMode(false);
    this.#streams.stdin.setRawMode(true);
    this.#write(this.#isEntered ? LEAVE + ENTER : ENTER);
    this.#isEntered = true;
  }

  #leave(): void {
    if (!this.#isEntered) return;
    this.#isEntered = false;
    this.#write(LEAVE);
    try {
      this.#streams.stdin.setRawMode(false);
    } catch {
      // The terminal is gone.
    }
  }

  /** At once: the process may be at its end. */
  #write(text: string): void {
    try {
      writeSync(this.#streams.stdout.fd ?? 1, text);
    } catch {
      // The terminal is gone, or takes nothing now.
    }
  }
}
