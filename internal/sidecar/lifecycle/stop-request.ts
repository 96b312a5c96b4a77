import { constants } from "node:os";
import { within } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import { type AgentExit, exitCodeOf } from "../../process/restart-policy.ts";
import type { StopRequest, StopResult } from "../../session/stop.ts";

export interface StopRequestHandlerDeps {
  readonly clock: Clock;
  /**
   * Asks the supervising half to end the agent: that half can reach the agent's processes, and this process may die
   * meanwhile.
   */
  readonly order: (request: StopRequest) => void;
  /** Called when the agent is to end: nothing more is typed. Remembered for a process after this one. */
  readonly stopping: () => void;
  /** Runs `work` when no delivery is under way. */
  readonly exclusively: (work: () => Promise<void>) => Promise<void>;
}

const MAX_GRACE_MS = 600_000;
/** A delivery under way may take this long before the agent is asked. */
const DELIVERY_MS = 5000;
/** The time beyond the grace time: for KILL, and until the agent's end is noticed. */
const NOTICE_MS = 10_000;

/** Ends the agent permanently: it is not restarted, regardless of the restart policy. */
export class StopRequestHandler {
  readonly #deps: StopRequestHandlerDeps;
  readonly #asked = new AbortController();
  readonly #changed = new SignalBus();
  #isDead = false;
  #end: AgentExit | undefined;

  /** `asked`: an earlier serving half was asked to stop the agent. */
  constructor(deps: StopRequestHandlerDeps, asked: boolean) {
    this.#deps = deps;
    if (asked) this.#asked.abort(new Error("the agent is to stop"));
  }

  /** Aborted once the agent must end permanently. */
  get asked(): AbortSignal {
    return this.#asked.signal;
  }

  /** To be called when the agent was found running. */
  alive(): void {
    this.#isDead = false;
    this.#end = undefined;
    if (!this.#asked.signal.aborted) return;
    this.#deps.stopping();
    this.#deps.order({ graceMs: 0, force: false });
  }

  dead(exit: AgentExit, restartDue: boolean): void {
    this.#isDead = true;
    this.#end = restartDue ? undefined : exit;
    this.#changed.notify();
  }

  /**
   * Asks the agent to leave in its own way, then sends TERM, HUP, and after the grace time KILL. Resolves when it has
   * ended.
   * @throws DomainError `invalid` for a grace time below 0 or over 10 minutes; `deadline` when its end is not noticed
   */
  async stop(request: StopRequest, signal: AbortSignal): Promise<Required<StopResult>> {
    const { graceMs } = request;
    if (!Number.isSafeInteger(graceMs) || graceMs < 0 || graceMs > MAX_GRACE_MS) {
      throw new DomainError("invalid", `cannot stop the agent with grace_ms ${graceMs}: 0 to ${MAX_GRACE_MS}`);
    }
    const alreadyStopped = this.#isDead;
    if (!alreadyStopped) await this.#begin(request);
    this.#asked.abort(new Error("the agent is to stop")); // also wakes a restart that was due
    return { ...describe(await this.#ended(graceMs, signal)), alreadyStopped };
  }

  async #begin(request: StopRequest): Promise<void> {
    const { clock, order, stopping, exclusively } = this.#deps;
    stopping();
    if (!request.force) {
      const turn = exclusively(async () => {});
      await within(clock, DELIVERY_MS, turn).catch(() => {}); // rejects if the sidecar ends meanwhile
    }
    order(request);
  }

  async #ended(graceMs: number, signal: AbortSignal): Promise<AgentExit> {
    const { clock } = this.#deps;
    const end = clock.monotonicMs() + (graceMs === 0 ? MAX_GRACE_MS : graceMs) + NOTICE_MS;
    while (this.#end === undefined) {
      const left = end - clock.monotonicMs();
      if (left <= 0) throw new DomainError("deadline", "the agent was asked to stop, but its end was not seen");
      await this.#changed.nextOrAfter(left, clock, signal);
    }
    return this.#end;
  }
}

function describe(exit: AgentExit): { readonly exitCode: number; readonly signal: string } {
  const name = Object.entries(constants.signals).find(([, number]) => number === exit.signal)?.[0] ?? "";
  return { exitCode: exitCodeOf(exit), signal: name };
}
