import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../../base/clock.ts";
import { listPids, parseStat, readOrEmpty } from "../proc-files.ts";

/** The variable that every process started by an agent inherits, wherever it goes. */
export const MARK_VARIABLE = "GT_AGENT_SESSION";

const PATTERN = new RegExp(`(?:^|\\0)${MARK_VARIABLE}=([0-9a-f-]{36})(?=\\0|$)`);
/** Sessions that end at the same moment share one scan of all processes. */
const GATHER_MS = 10;
/** After this many processes, other work gets its turn. */
const BATCH = 64;
const LOOK_EVERY_MS = 100;
/** A process cannot refuse KILL; only one in uninterruptible sleep takes longer to end. */
const KILL_MS = 5_000;

type Marked = ReadonlyMap<string, readonly number[]>;

/**
 * Finds and ends processes that agents have left behind outside their process groups, by the mark in their environment.
 * Linux only.
 */
export class MarkedProcesses {
  readonly #clock: Clock;
  #look: Promise<Marked> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Sends TERM, and after `graceMs` KILL, to every process with this mark; 0: KILL at once. Resolves when none is
   * running, or when KILL has not helped.
   */
  async end(mark: string, graceMs: number): Promise<void> {
    if (graceMs > 0) {
      const end = this.#clock.monotonicMs() + graceMs;
      if (await this.#signal(mark, "SIGTERM", end)) return;
    }
    await this.#signal(mark, "SIGKILL", this.#clock.monotonicMs() + KILL_MS);
  }

  /** Sends the signal once to each running process with the mark. True if none is running any more. */
  async #signal(mark: string, name: "SIGTERM" | "SIGKILL", end: number): Promise<boolean> {
    const signalled = new Set<number>();
    for (;;) {
      const pids = await this.#find(mark);
      if (pids.length === 0) return true;
      for (const pid of pids.filter((each) => !signalled.has(each))) {
        signalled.add(pid);
        signal(pid, name);
      }
      if (this.#clock.monotonicMs() >= end) return false;
      await this.#clock.sleep(LOOK_EVERY_MS);
    }
  }

  async #find(mark: string): Promise<readonly number[]> {
    this.#look ??= this.#lookSoon();
    return (await this.#look).get(mark) ?? [];
  }

  async #lookSoon(): Promise<Marked> {
    await this.#clock.sleep(GATHER_MS);
    // Later callers get the next scan: this one may have passed their processes already.
    this.#look = undefined;
    const found = new Map<string, number[]>();
    for (const [index, pid] of pidsHere().entries()) {
      if (index % BATCH === BATCH - 1) await nextTurn();
      const mark = PATTERN.exec(readOrEmpty(`/proc/${pid}/environ`))?.[1];
      if (mark === undefined || parseStat(readOrEmpty(`/proc/${pid}/stat`))?.isZombie !== false) continue;
      const pids = found.get(mark);
      if (pids === undefined) found.set(mark, [pid]);
      else pids.push(pid);
    }
    return found;
  }
}

/** Empty where there is no /proc. */
function pidsHere(): readonly number[] {
  try {
    return listPids();
  } catch {
    return [];
  }
}

function signal(pid: number, name: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}
