import type { Clock } from "../../base/clock.ts";
import { listPids, parseStat, readOrEmpty, statFields } from "../../process/proc-files.ts";
import { sendSignal } from "../../process/send-signal.ts";

/** How long a program has to end by itself after its terminal closes. */
const HANG_UP_MS = 300;
/** From TERM to KILL. */
const TERM_MS = 1000;
/** The kernel ends what was killed within this time, or cannot. */
const KILL_MS = 500;
const LOOK_EVERY_MS = 20;

interface Leader {
  readonly pid: number;
  readonly startedAt: string;
}

/**
 * The agent's program and the processes that it started on its terminal: a pane's program leads a session of its own,
 * whose id is the program's pid. Nothing is signalled unless the program was a child of the tmux server when it was
 * noted.
 */
export class AgentProcesses {
  readonly #clock: Clock;
  #leader: Leader | undefined;

  constructor(deps: { readonly clock: Clock }) {
    this.#clock = deps.clock;
  }

  /** From now on `pid` is the agent's, if the tmux server with the pid `serverPid` started it. */
  note(pid: number, serverPid: number | undefined): void {
    const text = readOrEmpty(`/proc/${pid}/stat`);
    const stat = parseStat(text);
    const [, parent, , session] = statFields(text);
    if (stat === undefined || serverPid === undefined) return;
    if (
      Number(parent) !== serverPid ||
      Number(session) !== pid ||
      isSame(this.#leader, { pid, startedAt: stat.startedAt })
    )
      return;
    const before = this.#leader;
    this.#leader = { pid, startedAt: stat.startedAt };
    // An agent that was removed from its pane may still be running.
    if (before !== undefined && lives(before)) void this.#end(before);
  }

  /**
   * Ends the remaining processes of the agent noted last: gives them the time of a hang-up to leave, then sends TERM,
   * then KILL. Resolves when none is running, or soon after KILL.
   */
  async end(): Promise<void> {
    if (this.#leader !== undefined) await this.#end(this.#leader);
  }

  async #end(leader: Leader): Promise<void> {
    const steps = [
      { signals: [], ms: HANG_UP_MS },
      { signals: ["SIGTERM", "SIGCONT"], ms: TERM_MS },
      { signals: ["SIGKILL"], ms: KILL_MS },
    ] as const;
    for (const { signals, ms } of steps) {
      for (const pid of membersOf(leader)) for (const name of signals) sendSignal(pid, name);
      const until = this.#clock.monotonicMs() + ms;
      while (membersOf(leader).length > 0 && this.#clock.monotonicMs() < until) await this.#clock.sleep(LOOK_EVERY_MS);
    }
  }
}

function isSame(one: Leader | undefined, other: Leader): boolean {
  return one?.pid === other.pid && one.startedAt === other.startedAt;
}

function lives({ pid, startedAt }: Leader): boolean {
  const stat = parseStat(readOrEmpty(`/proc/${pid}/stat`));
  return stat?.isZombie === false && stat.startedAt === startedAt;
}

/**
 * The processes of the leader's group and, while the leader is running, of its session. Once it has ended, others of
 * its session are left alone.
 */
function membersOf(leader: Leader): readonly number[] {
  const { pid } = leader;
  const stat = parseStat(readOrEmpty(`/proc/${pid}/stat`));
  if (stat !== undefined && stat.startedAt !== leader.startedAt) return []; // the pid belongs to another process by now
  const isThere = lives(leader);
  return listPids().filter((each) => {
    const [state, , group, session] = statFields(readOrEmpty(`/proc/${each}/stat`));
    if (state === "Z" || state === "X") return false;
    return Number(group) === pid || (isThere && Number(session) === pid);
  });
}
