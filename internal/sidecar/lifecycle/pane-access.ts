import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { TmuxPane } from "../../tmux/pane/pane.ts";
import type { AgentLifecycle } from "./agent-lifecycle.ts";

/**
 * Waits for the pane until the time of its call is over. Undefined: tmux was away all that time, or the agent has
 * ended.
 * @throws DomainError `unavailable` when the agent was started again meanwhile: the call meant the earlier life
 */
export type PaneWait<Pane = TmuxPane> = (signal: AbortSignal) => Promise<Pane | undefined>;

export interface PaneAccessDeps {
  readonly clock: Clock;
  readonly lifecycle: Pick<AgentLifecycle, "pane" | "pid" | "exit">;
  /** True if tmux can be asked at this moment. */
  readonly isAttached: () => boolean;
}

/** A control client that was lost is back within a second, and the pane is known some moments after a start. */
const CALL_MS = 5000;
/** A peek waits less, because it can answer with what the emulator has. */
const PEEK_MS = 2000;
const LOOK_MS = 20;

/** The agent's pane for calls, which wait while tmux is away for a moment. */
export class PaneAccess {
  readonly #deps: PaneAccessDeps;

  constructor(deps: PaneAccessDeps) {
    this.#deps = deps;
  }

  /**
   * For a call that begins now and must reach the terminal: waits until 5 s from now at most, including the call's
   * other waits.
   */
  readonly forCall = (): PaneWait => this.#wait(CALL_MS);

  /** For a peek that begins now: at most 2 s. */
  readonly forPeek = (): PaneWait => this.#wait(PEEK_MS);

  #wait(ms: number): PaneWait {
    const { clock, lifecycle, isAttached } = this.#deps;
    const end = clock.monotonicMs() + ms;
    const meant = lifecycle.pid;
    return async (signal) => {
      for (;;) {
        if (meant !== 0 && lifecycle.pid !== meant) {
          throw new DomainError("unavailable", "the agent was started again while the call waited for its terminal");
        }
        if (lifecycle.pane !== undefined && isAttached()) return lifecycle.pane;
        if (lifecycle.exit !== undefined || clock.monotonicMs() >= end) return undefined;
        await clock.sleep(LOOK_MS, signal);
      }
    };
  }
}
