import { aborted } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import type { AgentExit } from "../../process/restart-policy.ts";
import type { HalfEnd } from "./half-end.ts";
import { codeOfEnd, type StopOrder } from "./terminate-agent.ts";

export interface AgentEndingDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly end: HalfEnd;
  /** See `stopAgent`. */
  readonly stop: (order: StopOrder) => Promise<AgentExit | undefined>;
  /** Ends the agent's remaining processes. */
  readonly endProcesses: () => Promise<void>;
  /** Resumes a tmux server that was stopped (SIGSTOP). */
  readonly wakeTmux: () => void;
}

export interface AgentEndingOptions {
  /** The time from the request that this half end until everything has ended. */
  readonly graceMs: number;
}

/** The part of the grace period that is left for KILL and tmux itself. */
const KILL_MS = 1500;

/** Ends the agent for a caller of StopAgent, and when the supervising half ends. */
export class AgentEnding implements Task {
  readonly #deps: AgentEndingDeps;
  readonly #options: AgentEndingOptions;
  /** Aborted when the agent's end must not be awaited any longer. */
  readonly #hurry = new AbortController();
  #stopping: Promise<void> | undefined;
  /** Both StopAgent and the end of the half may find that the agent has ended. */
  #isLogged = false;

  constructor(deps: AgentEndingDeps, options: AgentEndingOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /**
   * StopAgent: `graceMs` 0 means the value of the options. A request during another has no effect, except that `force`
   * kills at once.
   */
  request({ graceMs, force }: { readonly graceMs: number; readonly force: boolean }): void {
    if (force) this.#hurry.abort();
    this.#stopping ??= this.#stop(graceMs === 0 ? this.#options.graceMs : graceMs).finally(() => {
      this.#stopping = undefined; // if there is another agent later, it can be ended, too
    });
  }

  /** Waits for `ended`, then ends the agent within the grace period. */
  async run(ended: AbortSignal): Promise<void> {
    await aborted(ended);
    const { clock } = this.#deps;
    const { graceMs } = this.#options;
    const done = new AbortController();
    const limit = clock.sleep(Math.max(0, graceMs - KILL_MS), done.signal).then(
      () => this.#hurry.abort(),
      () => {},
    );
    await this.#stopping; // requested by a caller, maybe with more time than there is now
    await this.#stop(graceMs);
    done.abort();
    await limit;
  }

  async #stop(graceMs: number): Promise<void> {
    const { end, logger } = this.#deps;
    this.#deps.wakeTmux(); // a stopped tmux can neither be asked nor report how the agent ended
    const exit = await this.#deps.stop({ graceMs, hurry: this.#hurry.signal });
    if (exit === undefined) await this.#deps.endProcesses(); // its session is gone, but it may still be running
    end.agentEnded(codeOfEnd(exit));
    if (this.#isLogged) return;
    this.#isLogged = true;
    logger[end.level]({ ...exit }, "agent stopped");
  }
}
