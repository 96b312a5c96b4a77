import type { Screen } from "../../agents/screen.ts";
import type { Clock } from "../../base/clock.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { Gap } from "../../session/types.ts";
import { fewLines, withinBounds } from "./drawing-limits.ts";
import { Emulator } from "./emulator.ts";
import { RawRing } from "./raw-ring.ts";
import type { ScreenSource } from "./screen-source.ts";
import type { MainLine } from "./scroll-reporter.ts";

export interface OutputOptions {
  readonly cols: number;
  readonly rows: number;
  /** Bytes of raw output kept for watchers that come back. */
  readonly rawBytes: number;
  /** Names the stream; offsets are never used twice within one. */
  readonly epoch: string;
  /** Offset of the first byte to come: above everything that was handed out before. */
  readonly startOffset: bigint;
}

/** History kept in the emulator; peeks that want more ask tmux. */
export const EMULATOR_SCROLLBACK = 1000;

/** Hears what the drawing of the output brings to light. Must not throw. */
export interface DrawingListener {
  /** Lines that have scrolled off the main screen, oldest first; each once. */
  scrolled(lines: readonly MainLine[]): void;
  /** Output whose rows were never reported: a hole in the bytes (`restart`), or a flood that was not drawn (`truncated`). */
  lost(range: Gap): void;
  /** As in `ScrollListener`. */
  vanished(lines: readonly MainLine[]): boolean;
  /** The program erases all of the main screen now: it can still be looked at. */
  erasing(): void;
  /** The program has thrown the history away: it may print the same rows again. */
  cleared(): void;
}

/** History and screen at one moment, as bytes that draw them. */
export interface Redraw {
  readonly text: string;
  readonly cols: number;
  readonly rows: number;
  /** It holds the history too, as deep as the emulator keeps it. */
  readonly hasHistory: boolean;
}

/** What redraws a screen that changed without the agent printing a byte: for watchers that arrive at `offset`. */
export interface Turning {
  readonly offset: bigint;
  readonly redraw: string;
}

/** Something that happens to the screen between two bytes. */
interface Turn {
  readonly at: bigint;
  /** What is not drawn yet of the bytes before it never will be. */
  readonly skips: boolean;
  /** Calls `drawn` at the moment when it has happened. */
  readonly run: (drawn: () => void) => Promise<void>;
  readonly done: () => void;
}

/** Drawn at once, so that reading and answering come in between. */
const SLICE_BYTES = 16 * 1024;
/** So far behind, and while bytes keep coming, drawing leaves most of the time to those who only pass bytes on. */
const HURRY_BYTES = 256 * 1024;
const HURRY_PAUSE_MS = 8;
const STILL_COMING_MS = 20;
/** So far behind, what is left is not drawn: the screen is fetched again. */
const BEHIND_BYTES = 4 * 1024 * 1024;
const TURNINGS_KEPT = 8;
/** Whoever looks at the screen waits this long for bytes that have come already. */
const CURRENT_WAIT_MS = 500;

const NEVER = new AbortController().signal;

/**
 * What the agent printed: the raw bytes with their offsets, and the screen they make. Bytes are taken at once, for those who
 * read them; the screen follows as fast as it can, and when it falls too far behind, `isBehind` asks for a `redraw`.
 */
export class OutputStream implements ScreenSource {
  readonly epoch: string;
  readonly ring: RawRing;
  readonly emulator: Emulator;
  /** The screen has changed. */
  readonly screens = new SignalBus();
  /** Bytes have come, or offsets were skipped. */
  readonly bytes = new SignalBus();
  /** The screen has fallen too far behind the bytes. */
  readonly lags = new SignalBus();
  readonly #clock: Clock;
  readonly #behindBytes: bigint;
  #turns: Turn[] = [];
  readonly #turnings: Turning[] = [];
  #isDrawing = false;
  /** Something to draw came while it was drawing. */
  #isAsked = false;
  #drawnTo: bigint;
  #printedAt: number | undefined;
  #printedWall: number | undefined;
  #lastGap: Gap | undefined;
  #listener: DrawingListener | undefined;
  #known = false;
  #isWhole = true;
  #isExact = true;

  constructor(deps: { readonly clock: Clock }, options: OutputOptions) {
    this.#clock = deps.clock;
    this.epoch = options.epoch;
    this.ring = new RawRing(options.rawBytes, options.startOffset);
    this.#behindBytes = BigInt(Math.min(BEHIND_BYTES, Math.ceil(options.rawBytes / 2)));
    this.#drawnTo = options.startOffset;
    this.emulator = new Emulator({ cols: options.cols, rows: options.rows, scrollback: EMULATOR_SCROLLBACK });
  }

  /** Offset of the first byte that the emulator's screen does not show yet. */
  get drawnTo(): bigint {
    return this.#drawnTo;
  }

  /** Wall clock, ms; undefined before the first output. */
  get lastOutputAt(): number | undefined {
    return this.#printedWall;
  }

  /** The last interruption of the stream, if there was one. */
  get lastGap(): Gap | undefined {
    return this.#lastGap;
  }

  /** From now on; one listener. */
  listen(listener: DrawingListener): void {
    this.#listener = listener;
    const overflowed = () => listener.lost({ first: this.#drawnTo, to: 0n, reason: "truncated" });
    const cleared = () => listener.cleared();
    this.emulator.listen({
      scrolled: (lines) => listener.scrolled(lines),
      overflowed,
      vanished: (lines) => listener.vanished(lines),
      erasing: () => listener.erasing(),
      cleared,
    });
  }

  /** Takes bytes in: those who read bytes have them at once, the screen shows them a moment later. Keeps `data`. */
  take(data: Uint8Array): void {
    this.#printedAt = this.#clock.monotonicMs();
    this.#printedWall = this.#clock.now();
    this.ring.push(data);
    this.bytes.notify();
    if (this.isBehind) this.lags.notify();
    this.#draw();
  }

  /** Resolves with true once all bytes taken until now are drawn, with false when that takes longer than `ms`. */
  async drawn(ms = Number.POSITIVE_INFINITY): Promise<boolean> {
    const goal = this.ring.end;
    const end = this.#clock.monotonicMs() + ms;
    while (this.#drawnTo < goal || this.#turns.length > 0) {
      const left = end - this.#clock.monotonicMs();
      if (left <= 0) return false;
      if (left === Number.POSITIVE_INFINITY) await this.screens.next(NEVER);
      else await this.screens.nextOrAfter(left, this.#clock, NEVER);
    }
    return true;
  }

  /** The screen is more than some MiB behind: it needs a `redraw`. */
  get isBehind(): boolean {
    const isHeld = this.#turns[0]?.skips === true || this.ring.holds(this.#drawnTo);
    return this.ring.end - this.#drawnTo > this.#behindBytes || !isHeld;
  }

  /** False after a redraw in a flood, whose place between the bytes was not known to the byte: it needs another in a quiet moment. */
  get isExact(): boolean {
    return this.#isExact;
  }

  /**
   * The stream goes on after a hole of unknown length; `redraw` is the history and screen as they are now, and `printedAt`
   * (wall clock, ms) when the agent printed last, where that is known.
   */
  restart(redraw: Redraw, printedAt?: number): Promise<void> {
    const first = this.ring.end;
    const to = first + 1n;
    this.ring.skipTo(to);
    this.#lastGap = { first, to, reason: "restart" };
    const agoMs = printedAt === undefined ? 0 : Math.max(0, this.#clock.now() - printedAt);
    this.#printedAt ??= this.#clock.monotonicMs() - agoMs;
    this.#printedWall ??= printedAt;
    this.#lost({ ...this.#lastGap, first: this.#drawnTo });
    this.bytes.notify();
    return this.#replace(redraw, to, true);
  }

  /**
   * The screen as it was when the stream had come to `at`, instead of drawing what leads there; later bytes are drawn on top.
   * Watchers of bytes notice nothing. Does nothing when the drawing has passed `at` by itself. `isExact`: not a byte more or
   * less had been drawn.
   */
  async redraw(redraw: Redraw, at: bigint, isExact: boolean): Promise<void> {
    if (at < this.#drawnTo || at > this.ring.end) return;
    if (at > this.#drawnTo) this.#lost({ first: this.#drawnTo, to: at, reason: "truncated" });
    await this.#replace(redraw, at, isExact);
  }

  /** The window has another size from now on. What stands on it is moved as terminals do it, until it is known exactly. */
  resize(wantedCols: number, wantedRows: number): Promise<void> {
    const { cols, rows } = withinBounds(wantedCols, wantedRows);
    return this.#turn(this.ring.end, false, (drawn) => {
      drawn();
      if (cols === this.emulator.cols && rows === this.emulator.rows) return Promise.resolve();
      this.#isExact = false;
      this.emulator.holdLines(true); // what the program draws for the new size may have been drawn at the old one
      this.emulator.resize(cols, rows);
      this.bytes.notify();
      this.lags.notify();
      return Promise.resolve();
    });
  }

  /** A new life of the agent in the same pane: the screen moves into the history and modes end, as tmux does it. */
  renew(): Promise<void> {
    const at = this.ring.end;
    return this.#turn(at, false, async () => {
      await this.emulator.write("\x1b[?1049l\x1b[!p\x1b[?2004l\x1b[?1000l\x1b[?1006l\x1b[999;1H");
      const used = this.emulator.usedRows;
      await this.emulator.write(`${"\n".repeat(used)}\x1b[H`);
      this.#turnings.push({ offset: at, redraw: this.emulator.redraw() });
      if (this.#turnings.length > TURNINGS_KEPT) this.#turnings.shift();
      this.#isExact = false;
      this.bytes.notify();
      this.lags.notify();
    });
  }

  /** The first change of the screen at or after `offset` that no byte made, if it is still known. */
  turningFrom(offset: bigint): Turning | undefined {
    return this.#turnings.find((turning) => turning.offset >= offset);
  }

  /** False when the stream began behind an alternate screen: what stood on the main one is known to tmux alone. */
  get isWhole(): boolean {
    return this.#isWhole;
  }

  /** Resolves once anything was drawn, at the latest after `ms`: until then an empty screen says nothing. */
  async known(ms: number): Promise<void> {
    const end = this.#clock.monotonicMs() + ms;
    for (let left = ms; !this.#known && left > 0; left = end - this.#clock.monotonicMs()) {
      await this.screens.nextOrAfter(left, this.#clock, NEVER);
    }
  }

  /** In a flood it may be up to some MiB behind. */
  async current(): Promise<Screen> {
    await this.drawn(CURRENT_WAIT_MS);
    return this.emulator.screen();
  }

  changed(ms: number, signal: AbortSignal): Promise<void> {
    return this.screens.nextOrAfter(ms, this.#clock, signal);
  }

  quietMs(): number {
    return this.#printedAt === undefined ? Number.POSITIVE_INFINITY : this.#clock.monotonicMs() - this.#printedAt;
  }

  #lost(range: Gap): void {
    this.#listener?.lost(range);
  }

  #replace(redraw: Redraw, at: bigint, isExact: boolean): Promise<void> {
    const overtaken = this.#turns.filter((turn) => turn.at <= at);
    this.#turns = this.#turns.filter((turn) => turn.at > at);
    for (const turn of overtaken) turn.done();
    return this.#turn(at, true, async (drawn) => {
      const { cols, rows } = withinBounds(redraw.cols, redraw.rows);
      await this.emulator.replace(redraw.text, cols, rows, () => {
        this.#isExact = isExact;
        this.emulator.holdLines(!isExact);
        drawn();
      });
      this.#isWhole = redraw.hasHistory;
    });
  }

  /** Has something done to the screen when it shows the bytes up to `at`. */
  #turn(at: bigint, skips: boolean, run: Turn["run"]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const turn = { at, skips, run, done: resolve };
    if (skips) this.#turns.unshift(turn);
    else this.#turns.push(turn);
    this.#draw();
    return promise;
  }

  #draw(): void {
    this.#isAsked = true;
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    this.#isAsked = false;
    void this.#drawAll().finally(() => {
      this.#isDrawing = false;
      if (this.#isAsked) this.#draw(); // what came while it was about to end
    });
  }

  async #drawAll(): Promise<void> {
    for (;;) {
      const turn = this.#turns[0];
      if (turn !== undefined && (turn.skips || this.#drawnTo >= turn.at)) await this.#take(turn);
      else if (!(await this.#drawSlice(turn))) return;
      this.#known = true;
      this.screens.notify();
      if (this.ring.end - this.#drawnTo > HURRY_BYTES && this.quietMs() < STILL_COMING_MS)
        await this.#clock.sleep(HURRY_PAUSE_MS);
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

  /** False when there is nothing to draw; also when it is no longer held, for then a redraw is on its way. */
  async #drawSlice(before: Turn | undefined): Promise<boolean> {
    const room = before === undefined ? SLICE_BYTES : Math.min(SLICE_BYTES, Number(before.at - this.#drawnTo));
    const data = this.ring.read(this.#drawnTo, room);
    if (data === undefined || data.length === 0) return false;
    const slice = this.#listener === undefined ? data : fewLines(data);
    await this.emulator.write(slice, () => {
      this.#drawnTo += BigInt(slice.length);
      if (!this.#isExact || !this.emulator.isMainUnknown) return;
      this.#isExact = false;
      this.lags.notify();
    });
    return true;
  }
}
