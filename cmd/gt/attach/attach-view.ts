import { raceSignal } from "../../../internal/base/abort.ts";
import type { Clock } from "../../../internal/base/clock.ts";
import type { DrawableTerminal } from "../common/text/live-screen.ts";
import { AttachPainter } from "./attach-painter.ts";
import type { KeyView } from "./attach-person-keys.ts";
import { AttachScreen } from "./attach-screen.ts";

/** The shortest time between two pictures; the first one after a pause is drawn at once. */
const FRAME_MS = 8;
const NOTICE_MS = 4000;
/** No real window is larger; a server that sends a larger size would fill our memory. */
const MAX_COLS = 500;
const MAX_ROWS = 300;
/** The time that a notice is shown while others wait. */
const CROWDED_NOTICE_MS = 1500;
/** A window that keeps its size for this long is reported to the person if it is larger than the terminal. */
const SIZE_SETTLED_MS = 700;

/** The agent's window on the person's terminal, with notices. Lives until its signal is aborted. */
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

  constructor(clock: Clock, terminal: DrawableTerminal, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
    this.#painter = new AttachPainter(terminal);
  }

  /** The parameters for interpreting the person's keys. */
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

  /** The window has this size from now on; its contents come next. A size out of range is clamped. */
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

  /** Shows the text for a moment. */
  notice(text: string): void {
    if (this.#notices.includes(text) || this.#notice === text) return;
    this.#notices.push(text);
    if (!this.#isTelling) void this.#tell().catch(() => {});
  }

  /** Shows the text until it is replaced; undefined removes it. */
  hold(text: string | undefined): void {
    this.#held = text;
    this.#changed();
  }

  /** The person's terminal is not ours for a while: draws nothing. */
  away(): void {
    this.#isAway = true;
  }

  /** The person's terminal is ours again, with unknown contents. */
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
