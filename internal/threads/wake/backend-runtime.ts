import { DomainError } from "../../base/errors.ts";
import type { NudgeReceipt } from "../../session/types.ts";
import type { Backend } from "../../terminal/backend.ts";
import type { Runtime, RuntimeStatus, WakeReceipt, WakeRequest } from "../domain/runtimes.ts";

type Used = "nudge" | "getNudge" | "cancelNudge" | "status" | typeof Symbol.asyncDispose;

const CALL_MS = 30_000;

/** The terminal of an agent's session, as a runtime. Disposing of the runtime disposes of the terminal. */
export class BackendRuntime implements Runtime {
  readonly kind: Runtime["kind"];
  readonly sessionId: string;
  readonly provider: string;
  readonly started?: NonNullable<Runtime["started"]>;
  readonly #backend: Pick<Backend, Used>;

  constructor(
    kind: Runtime["kind"],
    { sessionId, provider, started }: Pick<Runtime, "sessionId" | "provider" | "started">,
    backend: Pick<Backend, Used>,
  ) {
    this.kind = kind;
    this.sessionId = sessionId;
    this.provider = provider;
    if (started !== undefined) this.started = started;
    this.#backend = backend;
  }

  async nudge(request: WakeRequest, signal: AbortSignal): Promise<WakeReceipt> {
    const { requestId, text, sender, urgent, immediate, quietMs, ttlMs } = request;
    const receipt = await this.#backend.nudge(
      {
        ...{ message: text, requestId, sender, ttlMs, quietMs, timeoutMs: CALL_MS },
        mode: immediate ? "immediate" : "queue",
        priority: urgent ? "urgent" : "normal",
      },
      signal,
    );
    return receiptOf(receipt);
  }

  receipt(requestId: string, signal: AbortSignal): Promise<WakeReceipt | undefined> {
    return known(this.#backend.getNudge(requestId, signal));
  }

  /** A session without a terminal cannot take back a queued text; the text's receipt is then returned unchanged. */
  async cancel(requestId: string, signal: AbortSignal): Promise<WakeReceipt | undefined> {
    try {
      return await known(this.#backend.cancelNudge(requestId, signal));
    } catch (err) {
      if (!(err instanceof DomainError) || err.kind !== "unimplemented") throw err;
      return await this.receipt(requestId, signal);
    }
  }

  async status(signal: AbortSignal): Promise<RuntimeStatus> {
    const { dialog, personInputAt, agentSessionId, lastOutputAt, ...status } = await this.#backend.status(signal);
    const { alive, state, stateSince, epoch, draft } = status;
    return {
      ...{ alive, state, stateSince, epoch, draft },
      agentSessionId,
      lastOutputAt,
      dialogTitle: dialog?.title,
      personInputAt,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#backend[Symbol.asyncDispose]();
  }
}

/** Undefined: the runtime does not know the request. */
export async function known(receipt: Promise<NudgeReceipt>): Promise<WakeReceipt | undefined> {
  try {
    return receiptOf(await receipt);
  } catch (err) {
    if (err instanceof DomainError && err.kind === "not-found") return undefined;
    throw err;
  }
}

function receiptOf({ outcome, error, evidence, timings }: NudgeReceipt): WakeReceipt {
  const seen = evidence.map(({ source, value, confidence }) => ({ source, value, confidence }));
  const typedMs = timings.submittedMs ?? timings.typedMs;
  return { outcome, error, evidence: seen, typedMs };
}
