import { type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import { DomainError } from "../base/errors.ts";
import { BridgeService, type GetSessionResponse, SessionStatus } from "../gen/bridge/v1/bridge_pb.ts";
import type { AgentStatus } from "../session/agent-status.ts";
import type { StopRequest, StopResult } from "../session/stop.ts";
import type { NudgeReceipt, NudgeRequest } from "../session/types.ts";
import { bridgeCalls } from "./bridge-calls.ts";
import { callLimits, GRPCSidecarBackend, type GrpcSidecarOptions, type SidecarDeps } from "./grpc-sidecar.ts";

export interface BridgeBackendOptions extends GrpcSidecarOptions {
  readonly sessionId: string;
}

const LOOK_AGAIN_MS = 200;
/** Statuses with which a bridge refuses calls of a session that accepts no more input. */
const GONE: ReadonlySet<string> = new Set(["stopping", "stopped", "failed"]);
const STOP_LIMIT_MS = 300_000;
/** The reason of a session whose node does not report: the session may not end before the node reports again. */
const NODE_LOST = "NodeLost";
/** How long to wait for the end of such a session: its sidecar, which is asked first, may still be reachable. */
const NODE_LOST_MS = 10_000;

/** An agent's terminal behind a bridge, as one of its sessions. */
export class BridgeBackend extends GRPCSidecarBackend {
  readonly #client: Client<typeof BridgeService>;
  readonly #clock: SidecarDeps["clock"];
  readonly #sessionId: string;

  constructor(deps: SidecarDeps, options: BridgeBackendOptions) {
    const client = createClient(BridgeService, deps.transport);
    const stopAgent = () => Promise.reject(new DomainError("unimplemented", "a bridge stops sessions"));
    super(deps, options, { ...bridgeCalls(client, options.sessionId, deps.clock), stopAgent });
    this.#client = client;
    this.#clock = deps.clock;
    this.#sessionId = options.sessionId;
  }

  /** Reports a session that has ended as a dead agent, like a sidecar. */
  override async nudge(request: NudgeRequest, signal: AbortSignal): Promise<NudgeReceipt> {
    try {
      return await super.nudge(request, signal);
    } catch (err) {
      if (!(err instanceof DomainError) || err.kind !== "precondition" || !GONE.has(String(err.fields["status"])))
        throw err;
      const { requestId, sender } = request;
      const nothing = { queuePosition: 0, evidence: [], timings: {} };
      return { requestId, sender, outcome: "agent-dead", error: err.message, ...nothing };
    }
  }

  /** Adds the reason for a dead session. */
  override async status(signal: AbortSignal): Promise<AgentStatus> {
    const status = await super.status(signal);
    if (status.alive) return status;
    const why = await this.#failure(signal);
    return why === "" ? status : { ...status, why };
  }

  /**
   * Stops the session and waits for its end: at most 5 min, or 10 s if its node is lost. The grace time is the bridge's
   * own.
   */
  override async stop({ force }: StopRequest, signal: AbortSignal): Promise<StopResult> {
    const sessionId = this.#sessionId;
    const asked = this.#clock.monotonicMs();
    return this.call(async () => {
      const before = await this.#client.getSession({ sessionId }, callLimits(signal));
      const { status } = await this.#client.stopSession({ sessionId, force }, callLimits(signal));
      let seen = hasEnded(before) || status === SessionStatus.STOPPED ? ENDED : before;
      while (!hasEnded(seen)) {
        await this.#clock.sleep(LOOK_AGAIN_MS, signal);
        seen = await this.#afterStop(signal);
        const waitedMs = this.#clock.monotonicMs() - asked;
        if (!hasEnded(seen) && seen.reason === NODE_LOST && waitedMs >= NODE_LOST_MS)
          throw new DomainError("unavailable", `${seen.error}; it will be stopped when the node is back`);
        if (!hasEnded(seen) && waitedMs >= STOP_LIMIT_MS)
          throw new DomainError("deadline", "the session has not ended yet");
      }
      return { signal: "", alreadyStopped: hasEnded(before) };
    });
  }

  /** Why the session has failed; empty if it has not, or is no longer known. */
  async #failure(signal: AbortSignal): Promise<string> {
    try {
      return (await this.#client.getSession({ sessionId: this.#sessionId }, callLimits(signal))).error;
    } catch (err) {
      if (signal.aborted) throw err;
      return "";
    }
  }

  /**
   * The session after the stop. One that is no longer known has ended: if it never ran, it may be forgotten at once.
   */
  #afterStop(signal: AbortSignal): Promise<Seen> {
    return this.#client.getSession({ sessionId: this.#sessionId }, callLimits(signal)).catch((err) => {
      if (ConnectError.from(err).code !== Code.NotFound) throw err;
      return ENDED;
    });
  }
}

type Seen = Pick<GetSessionResponse, "status" | "reason" | "error" | "stoppedAt">;

const ENDED: Seen = { status: SessionStatus.STOPPED, reason: "", error: "" };

/** A failed session may still have a program that runs or starts again: it has ended once `stoppedAt` is set. */
function hasEnded({ status, stoppedAt }: Seen): boolean {
  return status === SessionStatus.STOPPED || (status === SessionStatus.FAILED && stoppedAt !== undefined);
}
