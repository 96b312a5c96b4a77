import { type AgentExit, exitCodeOf } from "../../process/restart-policy.ts";
import type { TmuxPane } from "../../tmux/pane/pane.ts";

/** The journal's record of the previous life. */
export interface LifeBefore {
  readonly pid: number;
  /** Wall clock, ms. */
  readonly startedAt: number;
  readonly restarts: number;
  readonly agentId?: string;
  readonly oomKills?: number;
  readonly agentSessionId?: string;
}

/** `exit`: how the agent ended. */
type LifeState =
  /** This process has seen no agent alive. */
  | { readonly type: "unseen" }
  | { readonly type: "running" }
  /** It will be started again. */
  | { readonly type: "ended"; readonly exit: AgentExit }
  | { readonly type: "finished"; readonly exit: AgentExit };

export interface EndFacts {
  /** The process that has ended; default: the one found last. */
  readonly pid?: number | undefined;
  readonly oomKills?: number | undefined;
}

const SIGKILL = 9;

/** The kernel kills by this signal when memory runs out. */
export function isOutOfMemoryPossible({ signal }: AgentExit): boolean {
  return signal === SIGKILL;
}

/**
 * The lifecycle of the agent's process, across restarts: whether it is running, which process it is or was, how it
 * ended, and its pane. Holds facts only: `LifecycleMonitor` observes them and decides about restarts. Other code reads
 * them, and reports the agent's conversation.
 */
export class AgentLifecycle {
  /** Undefined until it was found, and while tmux is away. */
  pane: TmuxPane | undefined;
  #state: LifeState = { type: "unseen" };
  #pid: number;
  #startedAt: number;
  #restarts: number;
  #agentId: string | undefined;
  #oomKills: number | undefined;
  #agentSessionId: string | undefined;
  /** The id was reported before the end of the last life that was seen to end, or by an earlier process. */
  #isIdOld = true;

  /** `now`: when a life without a journal counts as begun; wall clock, ms. */
  constructor(now: number, before: LifeBefore | undefined) {
    this.#oomKills = before?.oomKills;
    this.#pid = before?.pid ?? 0;
    this.#startedAt = before?.startedAt ?? now;
    this.#restarts = before?.restarts ?? 0;
    this.#agentId = before?.agentId;
    this.#agentSessionId = before?.agentSessionId;
  }

  /** 0 before the first one. */
  get pid(): number {
    return this.#pid;
  }

  /** Wall clock, ms. */
  get startedAt(): number {
    return this.#startedAt;
  }

  get restarts(): number {
    return this.#restarts;
  }

  /** Which agent the supervising half has started, see `ControlHello`. */
  get agentId(): string | undefined {
    return this.#agentId;
  }

  /** How many processes had been killed for lack of memory when this life began. */
  get oomKills(): number | undefined {
    return this.#oomKills;
  }

  /** The agent's own id of its present or last conversation; undefined: unknown. */
  get agentSessionId(): string | undefined {
    return this.#agentSessionId;
  }

  /** The agent has reported its conversation, maybe before it was found. Returns whether the id is another one. */
  inSession(agentSessionId: string): boolean {
    const isNew = agentSessionId !== this.#agentSessionId;
    this.#agentSessionId = agentSessionId;
    this.#isIdOld = false;
    return isNew;
  }

  get alive(): boolean {
    return this.#state.type === "running";
  }

  /** It has ended, and will not be started again. */
  get isFinished(): boolean {
    return this.#state.type === "finished";
  }

  /** How it ended; undefined while it has not. */
  get exit(): AgentExit | undefined {
    return this.#state.type === "ended" || this.#state.type === "finished" ? this.#state.exit : undefined;
  }

  get exitCode(): number | undefined {
    return this.exit === undefined ? undefined : exitCodeOf(this.exit);
  }

  /**
   * True if the agent with this pid is the one whose life this is. A program that another user put in its place may
   * have the same pid.
   */
  isOf(pid: number, agentId: string | undefined): boolean {
    return this.#pid === pid && (this.#agentId === undefined || this.#agentId === agentId);
  }

  /**
   * Records that the agent was found alive, in this life or in a new one that begins `now` (wall clock, ms); returns
   * true for a new one. `oomKills`: how many processes beside it the kernel has killed for lack of memory so far;
   * undefined: unknown.
   */
  found(pid: number, agentId: string | undefined, now: number, oomKills?: number): boolean {
    const isNew = !this.isOf(pid, agentId);
    if (isNew) this.#begin(pid, now, oomKills);
    this.#agentId = agentId;
    this.#state = { type: "running" };
    return isNew;
  }

  /**
   * Records the agent's end. tmux names the process that has ended; it may be one that was never seen alive, whose life
   * was over at once. Returns the exit, with the kernel's information: `oomKills` as in `found`.
   */
  ended(seen: AgentExit, now: number, { pid = this.#pid, oomKills }: EndFacts = {}): AgentExit {
    const isShort = isOutOfMemoryPossible(seen) && this.#oomKills !== undefined && (oomKills ?? 0) > this.#oomKills;
    const exit: AgentExit = isShort ? { ...seen, outOfMemory: true } : seen;
    if (pid !== this.#pid) this.#begin(pid, now, oomKills);
    this.#state = { type: "ended", exit };
    this.#isIdOld = true;
    return exit;
  }

  finished(exit: AgentExit): void {
    this.#state = { type: "finished", exit };
  }

  #begin(pid: number, now: number, oomKills: number | undefined): void {
    if (this.#pid !== 0) this.#restarts++;
    if (this.#isIdOld) this.#agentSessionId = undefined;
    this.#pid = pid;
    this.#startedAt = now;
    this.#oomKills = oomKills;
  }
}
