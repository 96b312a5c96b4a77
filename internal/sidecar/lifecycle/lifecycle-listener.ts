import type { AgentExit } from "../../process/restart-policy.ts";
import type { TmuxPane } from "../../tmux/pane/pane.ts";

/** A life of the agent: the time of one process. `fresh`: it was just started; otherwise it had been running before. */
export interface LifeStart {
  readonly pid: number;
  readonly fresh: boolean;
}

/** How an agent's life ended. */
export interface LifeEnd {
  readonly exit: AgentExit;
  readonly restartDue: boolean;
  readonly crashLoop: boolean;
}

/** Learns from `LifecycleMonitor` what happens to the agent's process and its pane, and pipes its output. */
export interface LifecycleListener {
  alive(life: LifeStart): void;
  /** The pane has this size, which an agent can change, too. Called repeatedly. */
  sized(size: { readonly cols: number; readonly rows: number }): void;
  /**
   * Pipes the pane's output (again): the pane is new, or the pipe was lost. Resolves with false if the pane is dead:
   * tmux does not change its pipe, and a pipe that an earlier process left continues into the next life.
   */
  arm(pane: TmuxPane): Promise<boolean>;
  /**
   * The pane's screen starts again, as tmux starts it for a new life. `endedPid`: the process of the life that it
   * showed until now.
   */
  renewed(endedPid: number | undefined): Promise<void>;
  /** When the last output arrived through our pipe; wall clock, ms. */
  lastOutputAt(): number | undefined;
  /** The pane's output is piped elsewhere. */
  diverted(): void;
  dead(end: LifeEnd): void;
  /** It has ended and no restart is due. */
  finished(exitCode: number): void;
}
