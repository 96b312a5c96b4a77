import type { Clock } from "../../base/clock.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import { fewLines, withinBounds } from "./drawing-limits.ts";
import { Emulator } from "./emulator.ts";
import type { RawRing } from "./raw-ring.ts";

/** History and screen at one moment, as bytes that draw them. */
export interface Redraw {
  readonly text: string;
  readonly cols: number;
  readonly rows: number;
  /** True if `text` draws the history too, as deep as the emulator keeps it. */
  readonly hasHistory: boolean;
}

/** Something that happens to the screen between two bytes. */
interface Turn {
  readonly at: bigint;
  /** True if the bytes before `at` that are not drawn yet are skipped. */
  readonly skips: boolean;
  /** Makes the change, and calls `drawn` at the moment when the screen has changed. */
  readonly run: (drawn: () => void) => Promise<void>;
  readonly done: () => void;
}

export interface DrawingDeps {
  readonly clock: Clock;
  /** The bytes to draw. */
  readonly ring: RawRing;
  /** For how long no byte has come, ms. */
  readonly quietMs: () => number;
}

export interface DrawingOptions {
  readonly cols: number;
  readonly rows: number;
  /** Lines of history that the emulator keeps. */
  readonly scrollback: number;
  /**
   * When the drawing is more than this many bytes behind, the screen is fetched again and the remaining bytes are not
   * drawn.
   */
  readonly behindBytes: number;
}

/** Bytes that are drawn in one go; other work runs between two slices. */
const SLICE_BYTES = 16 * 1024;
/**
 * When the drawing is this far behind while bytes keep coming, it leaves most of the time to code that only passes
 * bytes on.
 */
const HURRY_BYTES = 256 * 1024;
const HURRY_PAUSE_MS = 8;
const STILL_COMING_MS = 20;

const NEVER = new AbortController().signal;

/**
 * Draws the bytes of a ring on an emulator, in slices and in their order, with changes of the screen between two bytes
 * in their place (`turn`). Falls behind rather than delay other work.
 */
export class Drawing {
  readonly emulator: Emulator;
  /** The screen has changed. */
  readonly screens = new SignalBus();
  /**
   * Notified when the screen has fallen too far behind the bytes, or is not known to the byte: it needs a `replace`.
   */
  readonly lags = new SignalBus();
  /** True if rows that scroll off are reported: no slice may scroll off more rows than the emulator's history holds. */
  isReported = false;
  readonly #deps: DrawingDeps;
  readonly #behindBytes: bigint;
  #turns: Turn[] = [];
  /** `again`: something to draw came while the drawing was running. */
  #work: "none" | "drawing" | "again" = "none";
  #drawnTo: bigint;
  #isKnown = false;
  #isWhole = true;
  #isExact = true;

  constructor(deps: DrawingDeps, options: DrawingOptions) {
    this.#deps = deps;
    this.#behindBytes = BigInt(options.behindBytes);
    this.#drawnTo = deps.ring.end;
    this.emulator = new Emulator({ cols: options.cols, rows: options.rows, scrollback: options.scrollback });
  }

  /** Offset of the first byte that the screen does not show yet. */
  get drawnTo(): bigint {
    return this.#drawnTo;
  }

  /** See `lags`. */
  get isBehind(): boolean {
    const { ring } = this.#deps;
    const isHeld = this.#turns[0]?.skips === true || ring.holds(this.#drawnTo);
    return ring.end - this.#drawnTo > this.#behindBytes || !isHeld;
  }

  /**
   * False after a replacement whose place between the bytes was not known to the byte: it needs another in a quiet
   * moment.
   */
  get isExact(): boolean {
    return this.#isExact;
  }

  /** False if the drawing began behind an alternate screen: the main screen's content is unknown here. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Call it when the screen may differ from what the bytes would draw. */
  doubt(): void {
    this.#isExact = false;
    this.lags.notify();
  }

  /** Call it when new bytes are in the ring. */
  draw(): void {
    if (this.#work !== "none") {
      this.#work = "again";
      return;
    }
    this.#work = "drawing";
    void this.#drawAll().finally(() => {
      const isAsked = this.#work === "again"; // the bytes that came while it was about to end
      this.#work = "none";
      if (isAsked) this.draw();
    });
  }

  /** Resolves with true once all bytes taken so far are drawn, or with false if that takes longer than `ms`. */
  async drawn(ms: number): Promise<boolean> {
    const { clock, ring } = this.#deps;
    const goal = ring.end;
    const end = clock.monotonicMs() + ms;
    while (this.#drawnTo < goal || this.#turns.length > 0) {
      const left = end - clock.monotonicMs();
      if (left <= 0) return false;
      if (left === Number.POSITIVE_INFINITY) await this.screens.next(NEVER);
      else await this.screens.nextOrAfter(left, clock, NEVER);
    }
    return true;
  }

  /** Resolves once anything has been drawn, or after `ms`. Before anything is drawn, an empty screen proves nothing. */
  async known(ms: number): Promise<void> {
    const { clock } = this.#deps;
    const end = clock.monotonicMs() + ms;
    for (let left = ms; !this.#isKnown && left > 0; left = end - clock.monotonicMs()) {
      await this.screens.nextOrAfter(left, clock, NEVER);
    }
  }

  /**
   * Runs a change of the screen when the screen shows the bytes up to `at`. With `skips`, runs it at once and then
   * continues to draw from `at`.
   */
  turn(at: bigint, skips: boolean, run: Turn["run"]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const turn = { at, skips, run, done: resolve };
    if (skips) this.#turns.unshift(turn);
    else this.#turns.push(turn);
    this.draw();
    return promise;
  }

  /**
   * Puts another screen in place of the drawing of all bytes up to `at`. `isExact`: the new screen shows exactly the
   * bytes before `at`.
   */
  replace(redraw: Redraw, at: bigint, isExact: boolean): Promise<void> {
    const overtaken = this.#turns.filter((turn) => turn.at <= at);
    this.#turns = this.#turns.filter((turn) => turn.at > at);
    for (const turn of overtaken) turn.done();
    return this.turn(at, true, async (drawn) => {
      const { cols, rows } = withinBounds(redraw.cols, redraw.rows);
      await this.emulator.replace(redraw.text, cols, rows, () => {
        this.#isExact = isExact;
        this.emulator.holdLines(!isExact);
        drawn();
      });
      this.#isWhole = redraw.hasHistory;
    });
  }

  async #drawAll(): Promise<void> {
    const { clock, ring, quietMs } = this.#deps;
    for (;;) {
      const turn = this.#turns[0];
      if (turn !== undefined && (turn.skips || this.#drawnTo >= turn.at)) await this.#take(turn);
      else if (!(await this.#drawSlice(turn))) return;
      this.#isKnown = true;
      this.screens.notify();
      if (ring.end - this.#drawnTo > HURRY_BYTES && quietMs() < STILL_COMING_MS) await clock.sleep(HURRY_PAUSE_MS);
    }
  }

  async #take(turn: Turn): Promise<void> {
    await turn.run(() => {
      this.#drawnTo = turn.at;
    });
    const index = this.#turns.indexOf(turn);
    if (index >= 0) this.#turns.splice(index, 1);
    turn.done();
  }

  /** False if there is nothing to draw, or if the next bytes are no longer held and a replacement is under way. */
  async #drawSlice(before: Turn | undefined): Promise<boolean> {
    const room = before === undefined ? SLICE_BYTES : Math.min(SLICE_BYTES, Number(before.at - this.#drawnTo));
    const data = this.#deps.ring.read(this.#drawnTo, room);
    if (data === undefined || data.length === 0) return false;
    const slice = this.isReported ? fewLines(data) : data;
    await this.emulator.write(slice, () => {
      this.#drawnTo += BigInt(slice.length);
      if (this.#isExact && this.emulator.isMainUnknown) this.doubt();
    });
    return true;
  }
}
