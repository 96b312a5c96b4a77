import type { Clock } from "../base/clock.ts";
import type { Task } from "../base/task-group.ts";

/**
 * The state of a child process.
 * @internal
 */
export interface ChildState {
  /** Distinguishes processes with the same pid: a different start means a different process. */
  readonly startedAt: string;
  /** True if the child has ended and has not been reaped yet. */
  readonly isZombie: boolean;
}

/** The system as the reaper uses it; see `linux-children.ts`. */
export interface Children {
  /** Pids of the children of this process's main thread: its own, and the orphans. */
  list(): readonly number[];
  /** Undefined if there is no such process. */
  state(pid: number): ChildState | undefined;
  /** Reaps one child without blocking; a failure is ignored. */
  wait(pid: number): void;
  /** Calls back whenever a child may have ended; returns a function that stops the calls. */
  onEnd(callback: () => void): () => void;
}

/**
 * The pause between two looks, in which the child's own parent code gets a turn. Looks are counted because time says
 * nothing if the whole process was paused.
 */
const LOOK_EVERY_MS = 150;
/** After this many looks the parent code has reaped its own child; an unreaped one is an orphan. */
const LOOKS = 3;
/** The time to the next look without a signal: the signals of several ends may be merged into one. */
const LOOK_ANYWAY_MS = 5000;

/**
 * Reaps processes whose parents have ended and which the kernel has given to this one, as a container's first process
 * must: otherwise each of them keeps a pid forever. Node reaps its own children, and a pty's thread does too; if their
 * exit codes were taken away, both would wait forever. So a child is reaped only after it has been a zombie at three
 * looks, 300 ms in all, with a turn of the loop between them. Children of workers are ignored.
 */
export class Reaper implements Task {
  readonly #clock: Clock;
  readonly #children: Children;
  /** The number of looks at which each pid was a zombie. */
  #zombies = new Map<string, number>();
  #reaped = 0;

  constructor(clock: Clock, children: Children) {
    this.#clock = clock;
    this.#children = children;
  }

  /** The number of processes reaped so far. */
  get reaped(): number {
    return this.#reaped;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Node reaps its own children between the timers and the immediates: after a stall of the loop it goes first.
      await new Promise((resolve) => setImmediate(resolve));
      const isWaiting = this.look();
      if (!isWaiting) await this.#untilEndOf(signal);
      await this.#clock.sleep(LOOK_EVERY_MS, signal).catch(() => {});
    }
  }

  /** Looks at all children once; true if some are zombies that are not old enough yet. */
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
