import type { Screen } from "../agents/screen.ts";
import type { Clock } from "../base/clock.ts";
import { Serial } from "../base/serial.ts";
import { Emulator } from "./emulator.ts";
import { RawRing } from "./raw-ring.ts";
import type { ScreenSource } from "./screen-source.ts";
import { SignalBus } from "./signal-bus.ts";
import type { Gap } from "./types.ts";

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

const NEVER = new AbortController().signal;

/**
 * What the agent printed: the raw bytes with their offsets, and the screen they make. `take` is called with every chunk in
 * order; `restart` when the stream of bytes was interrupted and the screen is known anew.
 */
export class OutputStream implements ScreenSource {
  readonly epoch: string;
  readonly ring: RawRing;
  readonly emulator: Emulator;
  /** The screen has changed. */
  readonly screens = new SignalBus();
  /** Bytes have come, or offsets were skipped. */
  readonly bytes = new SignalBus();
  readonly #clock: Clock;
  /** Bytes, new beginnings and new lives come from different places and must not mix on the screen. */
  readonly #drawing = new Serial();
  #drawnTo: bigint;
  #printedAt: number | undefined;
  #printedWall: number | undefined;
  #lastGap: Gap | undefined;
  #known = false;
  #isWhole = true;

  constructor(deps: { readonly clock: Clock }, options: OutputOptions) {
    this.#clock = deps.clock;
    this.epoch = options.epoch;
    this.ring = new RawRing(options.rawBytes, options.startOffset);
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

  /** Takes bytes in; resolves when the screen shows them, which is the reader's back-pressure. Keeps `data`. */
  take(data: Uint8Array): Promise<void> {
    return this.#drawing.run(async () => {
      this.#printedAt = this.#clock.monotonicMs();
      this.#printedWall = this.#clock.now();
      this.ring.push(data);
      this.bytes.notify();
      await this.emulator.write(data);
      this.#known = true;
      this.#drawnTo = this.ring.end;
      this.screens.notify();
    });
  }

  /**
   * The stream goes on after a hole of unknown length; `redraw` is the history and screen as they are now, and `printedAt`
   * (wall clock, ms) when the agent printed last, where that is known.
   */
  restart(redraw: string, cols: number, rows: number, printedAt?: number): Promise<void> {
    return this.#drawing.run(async () => {
      this.emulator.reset();
      this.emulator.resize(cols, rows);
      await this.emulator.write(redraw);
      const first = this.ring.end;
      const to = first + 1n;
      this.ring.skipTo(to);
      this.#lastGap = { first, to, reason: "restart" };
      this.#drawnTo = to;
      this.#known = true;
      this.#isWhole = !this.emulator.alternate;
      const agoMs = printedAt === undefined ? 0 : Math.max(0, this.#clock.now() - printedAt);
      this.#printedAt ??= this.#clock.monotonicMs() - agoMs;
      this.#printedWall ??= printedAt;
      this.bytes.notify();
      this.screens.notify();
    });
  }

  /** A new life of the agent in the same pane: the screen moves into the history and modes end, as tmux does it. */
  async renew(): Promise<void> {
    const scroll = "\n".repeat(this.emulator.rows);
    await this.#drawing.run(() =>
      this.emulator.write(`\x1b[?1049l\x1b[!p\x1b[?2004l\x1b[?1000l\x1b[?1006l\x1b[999;1H${scroll}\x1b[H`),
    );
    this.screens.notify();
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

  current(): Promise<Screen> {
    return Promise.resolve(this.emulator.screen());
  }

  changed(ms: number, signal: AbortSignal): Promise<void> {
    return this.screens.nextOrAfter(ms, this.#clock, signal);
  }

  quietMs(): number {
    return this.#printedAt === undefined ? Number.POSITIVE_INFINITY : this.#clock.monotonicMs() - this.#printedAt;
  }
}
