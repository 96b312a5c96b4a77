import { type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { backoffMs } from "../base/backoff.ts";
import type { Clock } from "../base/clock.ts";
import { causesOf, codeOf, DomainError, errorText, isConnectFailure } from "../base/errors.ts";
import { SidecarService } from "../gen/gastown/v1/sidecar_pb.ts";
import { abortOnExit } from "../rpc/client/transport.ts";
import { isForeignAnswer } from "../rpc/common/errors.ts";
import type { AgentStatus } from "../session/agent-status.ts";
import type { AttachHello, AttachInput, AttachOutput } from "../session/attach.ts";
import type { StopRequest, StopResult } from "../session/stop.ts";
import type {
  KeysRequest,
  NudgeReceipt,
  NudgeRequest,
  PeekRequest,
  PeekResult,
  RespondRequest,
  RespondResult,
  WatchRequest,
  WatchUpdate,
} from "../session/types.ts";
import { attachOutputs, attachRequests } from "../wire/attach.ts";
import { respondRequest, respondResult } from "../wire/dialog.ts";
import { nudgeReceipt, nudgeRequest } from "../wire/nudge.ts";
import { agentStatusOf } from "../wire/status.ts";
import { peekRequest, peekResult, watchRequest, watchUpdate } from "../wire/watch.ts";
import type { Backend } from "./backend.ts";
import { NudgeInterruptedError } from "./nudge-interrupted-error.ts";

export interface SidecarDeps {
  /** Speaks to one sidecar, or to a bridge. */
  readonly transport: Transport;
  readonly clock: Clock;
  /** A fresh request id: `[A-Za-z0-9._-]{1,128}`. */
  readonly newId: () => string;
  /** Converts a failure of the transport to a DomainError; returns a bug as it was thrown. */
  readonly toError: (err: unknown) => unknown;
  readonly random: () => number;
  /** Closes the transport's connections. */
  readonly close: () => void;
}

export interface GrpcSidecarOptions {
  /** Its location, for a person. */
  readonly where: string;
  /** The hint for a sidecar that cannot be reached. */
  readonly hint: string;
  /** How long a nudge whose connection broke is sent again before its outcome counts as unknown. */
  readonly reconnectMs: number;
}

/** The RPCs that a terminal takes; a bridge answers them for the sidecar of a session. */
export type SidecarCalls = Pick<
  Client<typeof SidecarService>,
  | ("peek" | "status" | "watchOutput" | "attach" | "nudge" | "getNudge" | "cancelNudge")
  | ("respond" | "sendKeys" | "stopAgent")
>;

const CALL_MS = 30_000;
/** The time beyond the grace time: for a delivery under way, for KILL, and until the end is noticed. */
const STOP_MARGIN_MS = 30_000;
const MAX_GRACE_MS = 600_000;
/** Added to a nudge's own time-out, at which the sidecar ends the call by itself. */
const NUDGE_MARGIN_MS = 10_000;
const DEFAULT_NUDGE_MS = 75_000;
const RETRY = { firstMs: 50, maxMs: 1000, factor: 2 };

/** An agent's terminal behind a gt-sidecar. */
export class GRPCSidecarBackend implements Backend {
  readonly where: string;
  readonly #deps: SidecarDeps;
  readonly #options: GrpcSidecarOptions;
  readonly #client: SidecarCalls;

  constructor(
    deps: SidecarDeps,
    options: GrpcSidecarOptions,
    calls: SidecarCalls = createClient(SidecarService, deps.transport),
  ) {
    this.where = options.where;
    this.#deps = deps;
    this.#options = options;
    this.#client = calls;
  }

  async peek(request: PeekRequest, signal: AbortSignal): Promise<PeekResult> {
    return this.call(async () => peekResult(await this.#client.peek(peekRequest(request), callLimits(signal))));
  }

  async status(signal: AbortSignal): Promise<AgentStatus> {
    return this.call(async () => agentStatusOf(await this.#client.status({}, callLimits(signal))));
  }

  async getNudge(requestId: string, signal: AbortSignal): Promise<NudgeReceipt> {
    return this.call(async () => nudgeReceipt(await this.#client.getNudge({ requestId }, callLimits(signal)), ""));
  }

  async cancelNudge(requestId: string, signal: AbortSignal): Promise<NudgeReceipt> {
    return this.call(async () => nudgeReceipt(await this.#client.cancelNudge({ requestId }, callLimits(signal)), ""));
  }

  async respond(request: RespondRequest, signal: AbortSignal): Promise<RespondResult> {
    return this.call(async () =>
      respondResult(await this.#client.respond(respondRequest(request), callLimits(signal))),
    );
  }

  async sendKeys({ keys, text, requestId }: KeysRequest, signal: AbortSignal): Promise<void> {
    await this.call(() => this.#client.sendKeys({ keys: [...keys], text, requestId }, callLimits(signal)));
  }

  async stop({ graceMs, force }: StopRequest, signal: AbortSignal): Promise<StopResult> {
    const timeoutMs = (graceMs === 0 ? MAX_GRACE_MS : graceMs) + STOP_MARGIN_MS;
    const request = { graceMs: BigInt(graceMs), force };
    return this.call(async () => {
      const { exitCode, signal: name, alreadyStopped } = await this.#client.stopAgent(request, { signal, timeoutMs });
      return { exitCode, signal: name, alreadyStopped };
    });
  }

  /**
   * As `Backend.nudge`. When the connection breaks, the same request is sent again under the same id, which types
   * nothing twice.
   * @throws NudgeInterruptedError when that does not succeed in time.
   */
  async nudge(request: NudgeRequest, signal: AbortSignal): Promise<NudgeReceipt> {
    const { clock, newId, random } = this.#deps;
    const sent = { ...request, requestId: request.requestId === "" ? newId() : request.requestId };
    const deadline = clock.monotonicMs() + (request.timeoutMs <= 0 ? DEFAULT_NUDGE_MS : request.timeoutMs);
    let giveUpAt: number | undefined;
    for (let attempt = 0; ; attempt++) {
      const timeoutMs = Math.max(1, Math.ceil(deadline - clock.monotonicMs()));
      try {
        return await this.#nudgeOnce({ ...sent, timeoutMs }, signal);
      } catch (err) {
        if (!(err instanceof DomainError) || signal.aborted) throw err;
        if (err.kind === "deadline") throw this.#interrupted(sent.requestId, err);
        // The agent has ended since: a text that was sent before may have been typed.
        if (giveUpAt !== undefined && err.kind === "precondition") throw this.#interrupted(sent.requestId, err);
        const nothingSent = giveUpAt === undefined && (nobodyListens(err) || wasAnswered(err));
        if (err.kind !== "unavailable" || nothingSent) throw err;
        const now = clock.monotonicMs();
        giveUpAt ??= Math.min(now + this.#options.reconnectMs, deadline + NUDGE_MARGIN_MS);
        if (now >= giveUpAt) throw this.#interrupted(sent.requestId, err);
      }
      await clock.sleep(backoffMs(RETRY, attempt, random), signal);
    }
  }

  async *watch(request: WatchRequest, signal: AbortSignal): AsyncGenerator<WatchUpdate, void, undefined> {
    const watched = (stop: AbortSignal) =>
      this.#client.watchOutput(watchRequest(request), { signal: stop, timeoutMs: 0 });
    try {
      for await (const message of abortOnExit(watched, signal)) {
        const update = watchUpdate(message);
        yield update;
        if (update.kind === "end") return;
      }
    } catch (err) {
      throw this.#failure(err, signal);
    }
    throw new DomainError("unavailable", `${this.where} ended the stream without a reason`);
  }

  async *attach(
    hello: AttachHello,
    inputs: AsyncIterable<AttachInput>,
    signal: AbortSignal,
  ): AsyncGenerator<AttachOutput, void, undefined> {
    const attached = (stop: AbortSignal) =>
      attachOutputs(this.#client.attach(attachRequests(hello, inputs), { signal: stop, timeoutMs: 0 }));
    try {
      for await (const output of abortOnExit(attached, signal)) {
        yield output;
        if (output.type === "end") return;
      }
    } catch (err) {
      throw this.#failure(err, signal);
    }
    throw new DomainError("unavailable", `${this.where} ended the stream without a reason`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#deps.close();
  }

  async #nudgeOnce(request: NudgeRequest, signal: AbortSignal): Promise<NudgeReceipt> {
    const options = { signal, timeoutMs: request.timeoutMs + NUDGE_MARGIN_MS };
    return this.call(async () =>
      nudgeReceipt(await this.#client.nudge(nudgeRequest(request), options), request.sender),
    );
  }

  /** Calls `fn` and converts its failure. */
  protected async call<T>(fn: () => Promise<T>): Promise<T> {
    try {
      return await fn();
    } catch (err) {
      throw this.#failure(err);
    }
  }

  /** The error to throw: a DomainError with the sidecar's location, which the text of a socket's error lacks. */
  #failure(err: unknown, signal?: AbortSignal): unknown {
    if (signal?.aborted) return signal.reason;
    const known = this.#deps.toError(err);
    if (!(known instanceof DomainError)) return known;
    const { kind, fields } = known;
    if (kind !== "unavailable" && kind !== "unauthenticated" && kind !== "deadline") return known;
    const hint = kind === "unauthenticated" ? {} : { hint: this.#options.hint };
    return new DomainError(kind, `${this.where}: ${known.message}`, { fields: { ...hint, ...fields }, cause: known });
  }

  #interrupted(requestId: string, err: DomainError): NudgeInterruptedError {
    const message = `the connection broke after the message was sent, and its outcome is unknown (${errorText(err)})`;
    const hint = `repeat the same message with --request-id ${requestId}: it is never typed twice`;
    return new NudgeInterruptedError("unavailable", message, { fields: { request_id: requestId, hint }, cause: err });
  }
}

/** The limits of calls with one answer. */
export function callLimits(signal: AbortSignal): { readonly signal: AbortSignal; readonly timeoutMs: number } {
  return { signal, timeoutMs: CALL_MS };
}

const NOBODY = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "ENOENT"]);

/** True when no connection was made at all. */
function nobodyListens(err: unknown): boolean {
  return causesOf(err).some((one) => isConnectFailure(one) || NOBODY.has(codeOf(one)));
}

/** True when the sidecar itself refused, or another program answered; a proxy's 5xx says nothing of the sidecar. */
function wasAnswered(err: unknown): boolean {
  return causesOf(err).some((one) => one instanceof ConnectError && (one.details.length > 0 || isElsewhere(one)));
}

function isElsewhere(err: ConnectError): boolean {
  return isForeignAnswer(err) && err.code !== Code.Unavailable && !err.rawMessage.startsWith("HTTP 5");
}
