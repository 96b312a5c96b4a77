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
  /** Called repeatedly with the pane's size, which an agent can change, too. */
  sized(size: { readonly cols: number; readonly rows: number }): void;
  /**
   * Pipes the pane's output (again): the pane is new, or the pipe was lost. Resolves with false if the pane is dead:
   * tmux does not change a dead pane's pipe, and a pipe that an earlier process left continues into the next life.
   */
  arm(pane: TmuxPane): Promise<boolean>;
  /**
   * Starts the pane's screen again, as tmux does for a new life. `endedPid`: the process of the life that it showed
   * until now.
   */
  renewed(endedPid: number | undefined): Promise<void>;
  /** When the last output arrived through our pipe; wall clock, ms. */
  lastOutputAt(): number | undefined;
  /** Called when the pane's output turns out to be piped elsewhere. */
  diverted(): void;
  dead(end: LifeEnd): void;
  /** Called when the agent has ended and no restart is due. */
  finished(exitCode: number): void;
}
