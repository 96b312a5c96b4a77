import type { Clock } from "./clock.ts";

/** A boot of the machine, and how long ago it was. */
export interface Boot {
  /** Tells it from other boots; empty where the system has no name for it. */
  readonly id: string;
  readonly upMs: number;
}

/** A moment that changes of the wall clock do not move; also for another process, and across a boot. */
export interface Moment {
  readonly boot: string;
  /** Milliseconds after that boot. */
  readonly upMs: number;
}

/**
 * Time since the machine's boot, for ages that must not follow a wall clock which is set forward or back. What was
 * noted before this boot counts from the boot on: its age is then too low, never too high.
 */
export class MachineTime {
  readonly #clock: Clock;
  readonly #boot: Boot;
  readonly #startMs: number;

  /** `boot` as of now. */
  constructor(clock: Clock, boot: Boot) {
    this.#clock = clock;
    this.#boot = boot;
    this.#startMs = boot.upMs - clock.monotonicMs();
  }

  /** Milliseconds since the boot. */
  nowMs(): number {
    return Math.round(this.#startMs + this.#clock.monotonicMs());
  }

  /** `atMs` as something that another process understands. */
  momentOf(atMs: number): Moment {
    return { boot: this.#boot.id, upMs: atMs };
  }

  /**
   * A moment in milliseconds since this boot: 0 when it was before. Absent, as in what older versions kept: now; ahead,
   * since two processes do not read the same time to the millisecond: now, too.
   */
  atMs(moment: Moment | undefined): number {
    const now = this.nowMs();
    if (moment === undefined) return now;
    return moment.boot === this.#boot.id ? Math.min(moment.upMs, now) : 0;
  }
}
