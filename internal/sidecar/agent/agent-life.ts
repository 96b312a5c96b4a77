import { type AgentExit, exitCodeOf } from "../../process/restart-policy.ts";
import type { TmuxPane } from "../../tmux/pane/pane.ts";

/** What the journal knows of the life before. */
export interface LifeBefore {
  readonly pid: number;
  /** Wall clock, ms. */
  readonly startedAt: number;
  readonly restarts: number;
  readonly agentId?: string;
}

/** The agent's present or last life, and the pane that it has. The session monitor keeps it; everyone else reads it. */
export class AgentLife {
  /** Undefined until it was found, and while tmux is away. */
  pane: TmuxPane | undefined;
  /** 0 before the first one. */
  pid: number;
  /** Wall clock, ms. */
  startedAt: number;
  restarts: number;
  /** Which agent the supervising half has started, see `ControlHello`. */
  agentId: string | undefined;
  /** How it ended; undefined while it has not. */
  exit: AgentExit | undefined;
  /** This process has seen an agent alive. */
  met = false;

  /** `now`: when a life without a journal counts as begun; wall clock, ms. */
  constructor(now: number, before: LifeBefore | undefined) {
    this.pid = before?.pid ?? 0;
    this.startedAt = before?.startedAt ?? now;
    this.restarts = before?.restarts ?? 0;
    this.agentId = before?.agentId;
  }

  get alive(): boolean {
    return this.met && this.exit === undefined;
  }

  get exitCode(): number | undefined {
    return this.exit === undefined ? undefined : exitCodeOf(this.exit);
  }
}
