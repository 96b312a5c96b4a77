import type { Clock } from "../base/clock.ts";
import type { Task } from "../base/task-group.ts";

/**
 * What a child looks like from here.
 * @internal
 */
export interface ChildState {
  /** The same pid with another start is another process. */
  readonly startedAt: string;
  /** Whether it has ended and has not been reaped yet. */
  readonly isZombie: boolean;
}

/** The system as the reaper uses it; see `linux-children.ts`. */
export interface Children {
  /** Pids of the children of this process's main thread: its own, and the orphans. */
  list(): readonly number[];
  /** Undefined when there is no such process any more. */
  state(pid: number): ChildState | undefined;
  /** Waits for one child without blocking; whatever comes of it is no error. */
  wait(pid: number): void;
  /** Calls back whenever a child may have ended; answers with how to stop that. */
  onEnd(callback: () => void): () => void;
}

/**
 * Between two looks everyone else had time to look, too: how long it is since the first says nothing after a pause of
 * all.
 */
const LOOK_EVERY_MS = 150;
/** By then the parent code has reaped its own child; an unreaped child is an orphan. */
const LOOKS = 3;
/** Without any sign: signals of several ends may come as one, between two looks. */
const LOOK_ANYWAY_MS = 5000;

/**
 * Waits for processes whose parents have gone and which the kernel has given to this one, as a container's first
 * process must: else each of them takes a pid forever. Node waits for what it started itself, and a pty's thread does;
 * taking an exit code away from those would leave them waiting. So a child is waited for only after it has been a
 * zombie at three looks, 300 ms in all, with a turn of the loop between them. What workers started is not looked at.
 */
export class Reaper implements Task {
  readonly #clock: Clock;
  readonly #children: Children;
  /** At how many looks each has been one. */
  #zombies = new Map<string, number>();
  #reaped = 0;

  constructor(clock: Clock, children: Children) {
    this.#clock = clock;
    this.#children = children;
  }

  /** How many it has waited for. */
  get reaped(): number {
    return this.#reaped;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Node waits for its own between the timers and the immediates: after a stall of the loop it goes first.
      await new Promise((resolve) => setImmediate(resolve));
      const isWaiting = this.look();
      if (!isWaiting) await this.#untilEndOf(signal);
      await this.#clock.sleep(LOOK_EVERY_MS, signal).catch(() => {});
    }
  }

  /** One check of all children; true if some are zombies that are not old enough yet. */
  look(): boolean {
    const young = new Map<string, number>();
    for (const pid of this.#children.list()) {
      const child = this.#children.state(pid);
      if (child === undefined || !child.isZombie) continue;
      const key = `${pid} ${child.startedAt}`;
      const looks = (this.#zombies.get(key) ?? 0) + 1;
      if (looks < LOOKS) {
        young.set(key, looks);
        continue;
      }
      this.#children.wait(pid);
      this.#reaped++;
    }
    this.#zombies = young;
    return young.size > 0;
  }

  async #untilEndOf(signal: AbortSignal): Promise<void> {
    const ended = new AbortController();
    const unlisten = this.#children.onEnd(() => ended.abort());
    await this.#clock.sleep(LOOK_ANYWAY_MS, AbortSignal.any([signal, ended.signal])).catch(() => {});
    unlisten();
  }
}
