import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import { Emulator } from "../pane/screen/emulator.ts";
import type { ScreenSource } from "../pane/screen/screen-source.ts";
import type { PaneFacts, TmuxPane } from "../tmux/pane/pane.ts";

type Screen = Awaited<ReturnType<ScreenSource["current"]>>;

/** Callers within this time get the same picture. */
const FRESH_MS = 4;
/** How often the pane is checked while a caller waits for a change. */
const LOOK_EVERY_MS = 15;

/**
 * The screen of a local session, observed by captures: for processes that live too briefly to follow its output. A pane
 * that is gone keeps its last picture, but has no facts.
 */
export class CaptureScreen implements ScreenSource {
  readonly #clock: Clock;
  readonly #pane: Pick<TmuxPane, "capture" | "facts">;
  readonly #onFacts: (facts: PaneFacts | undefined) => void;
  readonly #emulator = new Emulator({ cols: 80, rows: 24, scrollback: 0 });
  #seen = "";
  #lookedAt = Number.NEGATIVE_INFINITY;
  #changedAt: number;
  #looking: Promise<void> | undefined;

  /** `quietSince`: monotonic ms of the last output before we began to look. `onFacts` is called at every look. */
  constructor(
    deps: {
      readonly clock: Clock;
      readonly pane: Pick<TmuxPane, "capture" | "facts">;
      readonly onFacts: (facts: PaneFacts | undefined) => void;
    },
    quietSince: number,
  ) {
    this.#clock = deps.clock;
    this.#pane = deps.pane;
    this.#onFacts = deps.onFacts;
    this.#changedAt = quietSince;
  }

  async current(signal: AbortSignal): Promise<Screen> {
    signal.throwIfAborted();
    // While a new picture is being drawn the emulator shows nothing, or a part of it.
    const isDrawing = this.#looking !== undefined;
    if (isDrawing || this.#clock.monotonicMs() - this.#lookedAt > FRESH_MS) await this.#look();
    return this.#emulator.screen();
  }

  async changed(ms: number, signal: AbortSignal): Promise<void> {
    const end = this.#clock.monotonicMs() + ms;
    const before = this.#seen;
    for (let left = ms; left > 0; left = end - this.#clock.monotonicMs()) {
      await this.#clock.sleep(Math.min(LOOK_EVERY_MS, left), signal);
      await this.current(signal);
      if (this.#seen !== before) return;
    }
  }

  quietMs(): number {
    return this.#clock.monotonicMs() - this.#changedAt;
  }

  #look(): Promise<void> {
    this.#looking ??= this.#capture().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #capture(): Promise<void> {
    const taken = await this.#take();
    this.#lookedAt = this.#clock.monotonicMs();
    this.#onFacts(taken?.facts);
    if (taken === undefined) return;
    const { text, facts } = taken;
    const seen = JSON.stringify([text, facts.cursorX, facts.cursorY, facts.cols, facts.rows, facts.alternate]);
    if (seen === this.#seen) return;
    // The first look does not show when the screen changed.
    if (this.#seen !== "") this.#changedAt = this.#lookedAt;
    this.#seen = seen;
    this.#emulator.reset();
    this.#emulator.resize(facts.cols, facts.rows);
    await this.#emulator.write(drawing(text, facts));
  }

  async #take(): Promise<{ readonly text: string; readonly facts: PaneFacts } | undefined> {
    try {
      // In this order both are of one moment: tmux does no other work before it has to write the capture to its file.
      const [facts, text] = await Promise.all([this.#pane.facts(), this.#pane.capture({ escapes: true, join: false })]);
      return { text, facts };
    } catch (err) {
      if (err instanceof DomainError && (err.kind === "unavailable" || err.kind === "precondition")) return undefined;
      throw err;
    }
  }
}

/** Draws each row at its own place and without wrapping, so that no row moves another. */
function drawing(text: string, facts: PaneFacts): string {
  const rows = text.replace(/\n$/, "").split("\n").slice(-facts.rows);
  const drawn = rows.map((row, y) => `\x1b[${y + 1};1H${row}\x1b[0m`).join("");
  const alternate = facts.alternate ? "\x1b[?1049h" : "";
  return `${alternate}\x1b[?7l${drawn}\x1b[?7h\x1b[${facts.cursorY + 1};${facts.cursorX + 1}H`;
}
