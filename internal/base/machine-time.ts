import type { Clock } from "./clock.ts";

/** A boot of the machine, and the time since then. */
export interface Boot {
  /** Distinguishes boots; empty where the system has no id for them. */
  readonly id: string;
  readonly upMs: number;
}

/** A moment that is independent of the wall clock and has a meaning for other processes and after a reboot. */
export interface Moment {
  readonly boot: string;
  /** Milliseconds after that boot. */
  readonly upMs: number;
}

/**
 * Time since the machine's boot, for ages that must not follow changes of the wall clock. A moment of an earlier boot
 * counts as the start of the present boot: its age is then too low, never too high.
 */
export class MachineTime {
  readonly #clock: Clock;
  readonly #boot: Boot;
  readonly #startMs: number;

  /** `boot`: as of now. */
  constructor(clock: Clock, boot: Boot) {
    this.#clock = clock;
    this.#boot = boot;
    this.#startMs = boot.upMs - clock.monotonicMs();
  }

  /** Milliseconds since the boot. */
  nowMs(): number {
    return Math.round(this.#startMs + this.#clock.monotonicMs());
  }

  /** `atMs` in a form that another process can read. */
  momentOf(atMs: number): Moment {
    return { boot: this.#boot.id, upMs: atMs };
  }

  /**
   * A moment in milliseconds since this boot; 0 if it is of an earlier boot. An absent moment, as in files of older
   * versions, counts as now, and so does one in the future: two processes do not read exactly the same time.
   */
  atMs(moment: Moment | undefined): number {
    const now = this.nowMs();
    if (moment === undefined) return now;
    return moment.boot === this.#boot.id ? Math.min(moment.upMs, now) : 0;
  }
}
