import { type AgentExit, exitCodeOf } from "../../process/restart-policy.ts";
import type { TmuxPane } from "../../tmux/pane/pane.ts";

/** A life of the agent (the time of one process), as a later serving half needs to know it. */
export interface LifeRecord {
  /** 0 before the first life. */
  readonly pid: number;
  /** Wall clock, ms. */
  readonly startedAt: number;
  readonly restarts: number;
  /** Which agent the supervising half has started, see `ControlHello`. */
  readonly agentId?: string | undefined;
  /** How many processes had been killed for lack of memory when this life began. */
  readonly oomKills?: number | undefined;
  /** The agent's own id of its present or last conversation. */
  readonly agentSessionId?: string | undefined;
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
  /** The pid of the process that has ended; default: of the one that was found last. */
  readonly pid?: number | undefined;
  readonly oomKills?: number | undefined;
}

const SIGKILL = 9;

/** True if the kernel may have killed the agent for lack of memory, for which it uses SIGKILL. */
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
  #life: LifeRecord;
  /** True if the id was reported in a life that has ended, or to an earlier process. */
  #isIdOld = true;

  /** `now`: when a life without a journal counts as begun; wall clock, ms. */
  constructor(now: number, before: LifeRecord = { pid: 0, startedAt: now, restarts: 0 }) {
    const { pid, startedAt, restarts, agentId, oomKills, agentSessionId } = before;
    this.#life = { pid, startedAt, restarts, agentId, oomKills, agentSessionId };
  }

  /** The present or last one. */
  get life(): LifeRecord {
    return this.#life;
  }

  get pid(): number {
    return this.#life.pid;
  }

  /**
   * Records the conversation that the agent has reported, possibly before it was found. Returns true if the id is new.
   */
  inSession(agentSessionId: string): boolean {
    const isNew = agentSessionId !== this.#life.agentSessionId;
    this.#life = { ...this.#life, agentSessionId };
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

  /** True if the agent with this pid is the one whose life this is. A different agent may have the same pid. */
  isOf(pid: number, agentId: string | undefined): boolean {
    const { life } = this;
    return life.pid === pid && (life.agentId === undefined || life.agentId === agentId);
  }

  /**
   * Records that the agent was found alive, in this life or in a new one that begins `now` (wall clock, ms); returns
   * true for a new one. `oomKills`: how many processes beside the agent the kernel has killed for lack of memory so
   * far; undefined: unknown.
   */
  found(pid: number, agentId: string | undefined, now: number, oomKills?: number): boolean {
    const isNew = !this.isOf(pid, agentId);
    if (isNew) this.#begin(pid, now, oomKills);
    this.#life = { ...this.#life, agentId };
    this.#state = { type: "running" };
    return isNew;
  }

  /**
   * Records the agent's end. tmux names the process that has ended; it may be one that was never seen alive, because
   * its life was so short. Returns the exit, which says whether memory ran out; `oomKills` as in `found`.
   */
  ended(seen: AgentExit, now: number, { pid = this.pid, oomKills }: EndFacts = {}): AgentExit {
    const { oomKills: before } = this.#life;
    const isShort = isOutOfMemoryPossible(seen) && before !== undefined && (oomKills ?? 0) > before;
    const exit: AgentExit = isShort ? { ...seen, outOfMemory: true } : seen;
    if (pid !== this.pid) this.#begin(pid, now, oomKills);
    this.#state = { type: "ended", exit };
    this.#isIdOld = true;
    return exit;
  }

  finished(exit: AgentExit): void {
    this.#state = { type: "finished", exit };
  }

  #begin(pid: number, now: number, oomKills: number | undefined): void {
    const { pid: last, restarts, agentId, agentSessionId } = this.#life;
    const known = this.#isIdOld ? {} : { agentSessionId };
    this.#life = { pid, startedAt: now, restarts: last === 0 ? restarts : restarts + 1, agentId, oomKills, ...known };
  }
}
