import type { Clock } from "../base/clock.ts";
import { type Key, KeyDecoder } from "./key-decoder.ts";
import type { Effect, Event, Line, State, TimerName } from "./model.ts";
import type { DemoOptions } from "./options.ts";
import type { Outside } from "./outside.ts";
import { Painter } from "./paint.ts";
import { render } from "./render.ts";
import { initialState, reduce } from "./state.ts";
import type { Terminal } from "./terminal.ts";

/** A lone ESC is the Escape key when nothing follows for this long. */
const ESCAPE_WAIT_MS = 30;
/** The longest possible sleep: a hung agent sleeps so that its process does not end. */
const FOREVER_MS = 2 ** 31 - 1;

export interface DemoAgentDeps {
  readonly terminal: Terminal;
  readonly outside: Outside;
  readonly clock: Clock;
}

/** Connects the reducer, the renderer and the terminal: events in, effects out, one repaint per event. */
export class DemoAgent {
  readonly #deps: DemoAgentDeps;
  readonly #decoder: KeyDecoder;
  readonly #painter: Painter;
  readonly #timers = new Map<TimerName | "escape", AbortController>();
  readonly #exited = Promise.withResolvers<number>();
  #state: State;
  #finished: Line[] = [];
  #hung = false;

  constructor(deps: DemoAgentDeps, options: DemoOptions) {
    this.#deps = deps;
    const bracketedPaste = !options.faults.noBracketedPaste;
    this.#decoder = new KeyDecoder({ bursts: !bracketedPaste });
    this.#painter = new Painter({ alternateScreen: options.alternateScreen, bracketedPaste });
    this.#state = initialState(options, deps.terminal.cols, deps.terminal.rows);
  }

  /** Runs until the agent quits; resolves with its exit code, or rejects with the signal's reason. */
  async run(signal: AbortSignal): Promise<number> {
    const { terminal } = this.#deps;
    const onAbort = () => this.#exited.reject(signal.reason);
    signal.throwIfAborted();
    signal.addEventListener("abort", onAbort, { once: true });
    terminal.write(this.#painter.begin());
    terminal.open({ data: (bytes) => this.#onData(bytes), resize: () => this.#onResize(), end: () => this.#exit(0) });
    try {
      this.#dispatch({ type: "start" });
      return await this.#exited.promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
      for (const timer of this.#timers.values()) timer.abort();
      terminal.close();
      terminal.write(this.#painter.end(terminal.cols));
    }
  }

  #onData(bytes: Uint8Array): void {
    this.#cancel("escape");
    this.#onKeys(this.#decoder.push(bytes));
    if (this.#decoder.pending) this.#after("escape", ESCAPE_WAIT_MS, () => this.#onKeys(this.#decoder.flush()));
  }

  #onKeys(keys: readonly Key[]): void {
    for (const key of keys) this.#dispatch({ type: "key", key });
  }

  #onResize(): void {
    const { cols, rows } = this.#deps.terminal;
    this.#painter.resized();
    this.#dispatch({ type: "resize", cols, rows });
  }

  #dispatch(event: Event): void {
    if (this.#hung) return;
    const { state, effects } = reduce(this.#state, event, this.#deps.clock.monotonicMs());
    this.#state = state;
    for (const effect of effects) this.#perform(effect);
    this.#repaint();
  }

  #repaint(): void {
    const { terminal } = this.#deps;
    if (this.#hung) return;
    const frame = render(this.#state);
    const { cols, rows } = this.#state;
    if (this.#state.options.alternateScreen) {
      terminal.write(this.#painter.paintAll(frame, this.#state.transcript, cols, rows));
    } else {
      terminal.write(this.#painter.paint(frame, this.#finished, cols));
    }
    this.#finished = [];
  }

  #perform(effect: Effect): void {
    const { terminal, outside, clock } = this.#deps;
    switch (effect.type) {
      case "print":
        this.#finished.push(...effect.lines);
        return;
      case "raw":
        terminal.write(effect.text);
        return;
      case "clear":
        this.#finished = [];
        terminal.write(this.#painter.clear());
        return;
      case "timer":
        this.#after(effect.name, effect.ms, () => this.#dispatch({ type: "timer", name: effect.name }));
        return;
      case "cancel":
        this.#cancel(effect.name);
        return;
      case "took":
        outside.took(effect.text, effect.via, clock.now());
        return;
      case "tool":
        outside.tool(effect.text);
        return;
      case "hook":
        outside.hook(effect.line);
        return;
      case "hang":
        this.#hang();
        return;
      case "exit":
        this.#exit(effect.code);
        return;
    }
  }

  #after(name: TimerName | "escape", ms: number, fire: () => void): void {
    this.#cancel(name);
    const timer = new AbortController();
    this.#timers.set(name, timer);
    this.#deps.clock.sleep(ms, timer.signal).then(
      () => {
        this.#timers.delete(name);
        fire();
      },
      () => {},
    );
  }

  #cancel(name: TimerName | "escape"): void {
    this.#timers.get(name)?.abort();
    this.#timers.delete(name);
  }

  #hang(): void {
    this.#repaint();
    this.#hung = true;
    for (const timer of this.#timers.values()) timer.abort();
    this.#timers.clear();
    this.#deps.terminal.freeze();
    this.#after("start", FOREVER_MS, () => {});
  }

  #exit(code: number): void {
    this.#exited.resolve(code);
  }
}
