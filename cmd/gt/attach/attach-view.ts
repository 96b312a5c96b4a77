import { raceSignal } from "../../../internal/base/abort.ts";
import type { Clock } from "../../../internal/base/clock.ts";
import { AttachPainter, type PersonTerminal } from "./attach-painter.ts";
import type { KeyView } from "./attach-person-keys.ts";
import { AttachScreen } from "./attach-screen.ts";

/** Pictures come no faster than this; the first after a pause comes at once. */
const FRAME_MS = 8;
const NOTICE_MS = 4000;
/** No window is larger; a server that says otherwise would have us fill the memory. */
const MAX_COLS = 500;
const MAX_ROWS = 300;
/** A notice is shown so long when others wait. */
const CROWDED_NOTICE_MS = 1500;
/** A window that has another size than the terminal for this long keeps it. */
const SIZE_SETTLED_MS = 700;

/**
 * The agent's window on the person's terminal, and what there is to tell about it. Lives until its signal is aborted.
 */
export class AttachView {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #painter: AttachPainter;
  #screen: AttachScreen | undefined;
  #paintedAt = Number.NEGATIVE_INFINITY;
  #isDue = false;
  #notices: string[] = [];
  #isTelling = false;
  #notice: string | undefined;
  #held: string | undefined;
  #isAway = true;

  constructor(clock: Clock, terminal: PersonTerminal, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
    this.#painter = new AttachPainter(terminal);
  }

  /** How the person's keys are interpreted. */
  get keyView(): KeyView {
    const { x, y } = this.#painter.viewport;
    const { cols = 0, rows = 0 } = this.#screen ?? {};
    return { x, y, cols, rows, sgrMouse: this.#screen?.modes.sgrMouse ?? true };
  }

  async data(data: Uint8Array): Promise<void> {
    if (this.#screen === undefined) return;
    await this.#screen.write(data);
    this.#changed();
  }

  /**
   * The window's size from now on; what is on it comes next. A size that no window has is cut to one that it may have.
   */
  resized(wantedCols: number, wantedRows: number): void {
    const cols = clamped(wantedCols, MAX_COLS);
    const rows = clamped(wantedRows, MAX_ROWS);
    if (this.#screen === undefined) this.#screen = new AttachScreen(cols, rows);
    else this.#screen.resize(cols, rows);
    void this.#after(SIZE_SETTLED_MS, () => this.#compareSizes(cols, rows));
  }

  /** A key was sent: the next output responds to it. */
  expectEcho(): void {
    this.#screen?.expectEcho();
  }

  /** Shown for a moment. */
  notice(text: string): void {
    if (this.#notices.includes(text) || this.#notice === text) return;
    this.#notices.push(text);
    if (!this.#isTelling) void this.#tell().catch(() => {});
  }

  /** Shown until it is replaced, or undefined. */
  hold(text: string | undefined): void {
    this.#held = text;
    this.#changed();
  }

  /** The person's terminal is not ours for a while: nothing is drawn. */
  away(): void {
    this.#isAway = true;
  }

  /** The person's terminal is ours, and what is on it is not known. */
  redraw(): void {
    this.#isAway = false;
    this.#painter.forget();
    this.#changed();
  }

  async #tell(): Promise<void> {
    this.#isTelling = true;
    for (let next = this.#notices.shift(); next !== undefined; next = this.#notices.shift()) {
      this.#notice = next;
      this.#changed();
      await this.#clock.sleep(this.#notices.length > 0 ? CROWDED_NOTICE_MS : NOTICE_MS, this.#signal);
    }
    this.#notice = undefined;
    this.#isTelling = false;
    this.#changed();
  }

  #compareSizes(cols: number, rows: number): void {
    const { columns, lines } = this.#painter;
    if (this.#screen?.cols !== cols || this.#screen.rows !== rows || (cols <= columns && rows <= lines)) return;
    this.notice(`the window is ${cols}x${rows}, your terminal ${columns}x${lines}: you see the part around the cursor`);
  }

  #changed(): void {
    if (this.#isDue || this.#signal.aborted) return;
    const waitMs = this.#paintedAt + FRAME_MS - this.#clock.monotonicMs();
    if (waitMs <= 0) {
      this.#paint();
      return;
    }
    this.#isDue = true;
    void this.#after(waitMs, () => {
      this.#isDue = false;
      this.#paint();
    });
  }

  #paint(): void {
    if (this.#screen === undefined || this.#isAway) return;
    this.#painter.paint(this.#screen, this.#held ?? this.#notice);
    this.#paintedAt = this.#clock.monotonicMs();
  }

  async #after(ms: number, work: () => void): Promise<void> {
    try {
      await raceSignal(this.#clock.sleep(ms, this.#signal), this.#signal);
    } catch {
      return;
    }
    work();
  }
}

function clamped(size: number, most: number): number {
  return Number.isSafeInteger(size) ? Math.min(Math.max(size, 1), most) : 1;
}
