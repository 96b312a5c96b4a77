import type { Screen } from "../../agents/screen.ts";
import type { Clock } from "../../base/clock.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { Gap } from "../../session/types.ts";
import { Drawing, type Redraw } from "./drawing.ts";
import { withinBounds } from "./drawing-limits.ts";
import type { Emulator } from "./emulator.ts";
import type { MainLine } from "./main-lines.ts";
import { RawRing } from "./raw-ring.ts";
import type { ScreenSource } from "./screen-source.ts";

export interface OutputOptions {
  readonly cols: number;
  readonly rows: number;
  /** Bytes of raw output kept for watchers that reconnect. */
  readonly rawBytes: number;
  /** Names the stream; offsets are never used twice within one. */
  readonly epoch: string;
  /** Offset of the first byte to come; greater than every offset that was handed out before. */
  readonly startOffset: bigint;
}

/** History kept in the emulator; peeks that want more ask tmux. */
export const EMULATOR_SCROLLBACK = 1000;

/** Listens to the drawing of the output. Must not throw. */
export interface DrawingListener {
  /** Lines that have scrolled off the main screen, oldest first; each once. */
  scrolled(lines: readonly MainLine[]): void;
  /**
   * Output whose rows were never reported: a hole in the bytes (`restart`), or a flood that was not drawn
   * (`truncated`).
   */
  lost(range: Gap): void;
  /** As in `ScrollListener`. */
  vanished(lines: readonly MainLine[]): boolean;
  /** The program is erasing the whole main screen; the old content can still be read. */
  erasing(): void;
  /** The program has thrown the history away: it may print the same rows again. */
  cleared(): void;
  /** The screen has another size, or was drawn again: lines may have come back from the history. */
  moved(isResized: boolean): void;
}

/** Redraws, for watchers that arrive at `offset`, a screen that changed without output of the agent. */
export interface Turning {
  readonly offset: bigint;
  readonly redraw: string;
}

/** When the drawing is further behind than this, the screen is fetched again and the remaining bytes are not drawn. */
const BEHIND_BYTES = 4 * 1024 * 1024;
const TURNINGS_KEPT = 8;
/** How long a reader of the screen waits for received bytes to be drawn. */
const CURRENT_WAIT_MS = 500;

/**
 * The agent's output: the raw bytes with their offsets, and the screen that they draw. Bytes are available to readers
 * at once; the screen follows as fast as it can, and if it falls too far behind, `isBehind` asks for a `redraw`.
 */
export class OutputStream implements ScreenSource {
  readonly epoch: string;
  readonly ring: RawRing;
  /** Bytes have come, or offsets were skipped. */
  readonly bytes = new SignalBus();
  readonly #clock: Clock;
  readonly #drawing: Drawing;
  readonly #turnings: Turning[] = [];
  /** When the last bytes came: monotonic, and wall clock if known; ms. */
  #printed: { readonly at: number; readonly wall: number | undefined } | undefined;
  #lastGap: Gap | undefined;
  #listener: DrawingListener | undefined;

  constructor(deps: { readonly clock: Clock }, options: OutputOptions) {
    this.#clock = deps.clock;
    this.epoch = options.epoch;
    this.ring = new RawRing(options.rawBytes, options.startOffset);
    const behindBytes = Math.min(BEHIND_BYTES, Math.ceil(options.rawBytes / 2));
    const { cols, rows } = options;
    this.#drawing = new Drawing(
      { clock: deps.clock, ring: this.ring, quietMs: () => this.quietMs() },
      { cols, rows, scrollback: EMULATOR_SCROLLBACK, behindBytes },
    );
  }

  get emulator(): Emulator {
    return this.#drawing.emulator;
  }

  /** The screen has changed. */
  get screens(): SignalBus {
    return this.#drawing.screens;
  }

  /** Notified when the screen has fallen too far behind the bytes. */
  get lags(): SignalBus {
    return this.#drawing.lags;
  }

  /** Offset of the first byte that the emulator's screen does not show yet. */
  get drawnTo(): bigint {
    return this.#drawing.drawnTo;
  }

  /** Wall clock, ms; undefined before the first output. */
  get lastOutputAt(): number | undefined {
    return this.#printed?.wall;
  }

  /** The last interruption of the stream, if there was one. */
  get lastGap(): Gap | undefined {
    return this.#lastGap;
  }

  /** Notifies the listener from now on. There can be only one. */
  listen(listener: DrawingListener): void {
    this.#listener = listener;
    this.#drawing.isReported = true;
    const overflowed = () => listener.lost({ first: this.drawnTo, to: 0n, reason: "truncated" });
    const cleared = () => listener.cleared();
    this.emulator.listen({
      scrolled: (lines) => listener.scrolled(lines),
      overflowed,
      vanished: (lines) => listener.vanished(lines),
      erasing: () => listener.erasing(),
      cleared,
    });
  }

  /** Takes bytes: readers of bytes have them at once, and the screen shows them a moment later. Keeps `data`. */
  take(data: Uint8Array): void {
    this.#printed = { at: this.#clock.monotonicMs(), wall: this.#clock.now() };
    this.ring.push(data);
    this.bytes.notify();
    if (this.isBehind) this.lags.notify();
    this.#drawing.draw();
  }

  /** Resolves with true once all bytes taken so far are drawn, or with false if that takes longer than `ms`. */
  drawn(ms = Number.POSITIVE_INFINITY): Promise<boolean> {
    return this.#drawing.drawn(ms);
  }

  /**
   * True if the screen has fallen several MiB behind, or the next bytes to draw are no longer held: it needs a
   * `redraw`.
   */
  get isBehind(): boolean {
    return this.#drawing.isBehind;
  }

  /**
   * False after a redraw in a flood, whose place between the bytes was not known to the byte: it needs another in a
   * quiet moment.
   */
  get isExact(): boolean {
    return this.#drawing.isExact;
  }

  /**
   * Continues the stream after a hole of unknown length; `redraw` is the current history and screen, and `printedAt`
   * (wall clock, ms) the time of the last output, if known.
   */
  resumeFrom(redraw: Redraw, printedAt?: number): Promise<void> {
    const first = this.ring.end;
    const to = first + 1n;
    this.ring.skipTo(to);
    this.#lastGap = { first, to, reason: "restart" };
    const agoMs = printedAt === undefined ? 0 : Math.max(0, this.#clock.now() - printedAt);
    const at = this.#printed?.at ?? this.#clock.monotonicMs() - agoMs;
    this.#printed = { at, wall: this.#printed?.wall ?? printedAt };
    this.#listener?.lost({ ...this.#lastGap, first: this.drawnTo });
    this.bytes.notify();
    return this.#drawing.replace(redraw, to, true);
  }

  /**
   * Sets the screen as it was at offset `at`, in place of drawing the bytes up to there; later bytes are drawn on top.
   * Watchers of bytes notice nothing. Does nothing if the drawing has already passed `at`. `isExact`: the screen shows
   * exactly the bytes before `at`.
   */
  async redraw(redraw: Redraw, at: bigint, isExact: boolean): Promise<void> {
    if (at < this.drawnTo || at > this.ring.end) return;
    if (at > this.drawnTo) this.#listener?.lost({ first: this.drawnTo, to: at, reason: "truncated" });
    await this.#drawing.replace(redraw, at, isExact);
    this.#listener?.moved(false);
  }

  /**
   * Gives the window another size from now on. The content moves as in any terminal, until the screen is known exactly.
   */
  resize(wantedCols: number, wantedRows: number): Promise<void> {
    const { cols, rows } = withinBounds(wantedCols, wantedRows);
    return this.#drawing.turn(this.ring.end, false, (drawn) => {
      drawn();
      if (cols === this.emulator.cols && rows === this.emulator.rows) return Promise.resolve();
      this.#drawing.doubt();
      this.emulator.holdLines(true); // bytes meant for the new size may have been drawn at the old one
      this.emulator.resize(cols, rows);
      this.#listener?.moved(true);
      this.bytes.notify();
      return Promise.resolve();
    });
  }

  /**
   * A new life of the agent in the same pane: the screen moves into the history and the modes are reset, as by tmux.
   */
  renew(): Promise<void> {
    const at = this.ring.end;
    return this.#drawing.turn(at, false, async () => {
      await this.emulator.write("\x1b[?1049l\x1b[!p\x1b[?2004l\x1b[?1000l\x1b[?1006l\x1b[999;1H");
      const used = this.emulator.usedRows;
      await this.emulator.write(`${"\n".repeat(used)}\x1b[H`);
      this.#turnings.push({ offset: at, redraw: this.emulator.redraw() });
      if (this.#turnings.length > TURNINGS_KEPT) this.#turnings.shift();
      this.bytes.notify();
      this.#drawing.doubt();
    });
  }

  /** The first change of the screen at or after `offset` that no byte made, if it is still known. */
  turningFrom(offset: bigint): Turning | undefined {
    return this.#turnings.find((turning) => turning.offset >= offset);
  }

  /** False if the stream began behind an alternate screen: only tmux knows the main screen's content. */
  get isWhole(): boolean {
    return this.#drawing.isWhole;
  }

  /** Resolves once anything has been drawn, or after `ms`. Before anything is drawn, an empty screen proves nothing. */
  known(ms: number): Promise<void> {
    return this.#drawing.known(ms);
  }

  /** The current screen; in a flood it may be several MiB behind. */
  async current(): Promise<Screen> {
    await this.drawn(CURRENT_WAIT_MS);
    return this.emulator.screen();
  }

  changed(ms: number, signal: AbortSignal): Promise<void> {
    return this.screens.nextOrAfter(ms, this.#clock, signal);
  }

  quietMs(): number {
    return this.#printed === undefined ? Number.POSITIVE_INFINITY : this.#clock.monotonicMs() - this.#printed.at;
  }
}
