import { randomUUID } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { sidecarTransport } from "../../rpc/client/transport.ts";
import { domainErrorOf } from "../../rpc/common/errors.ts";
import type { NudgeReceipt } from "../../session/types.ts";
import type { Backend } from "../../terminal/backend.ts";
import { type LocalSidecar, listLocalSidecars } from "../../terminal/finding/local-sidecars.ts";
import { GRPCSidecarBackend } from "../../terminal/grpc-sidecar.ts";
import type { Runtime, RuntimeStatus, Runtimes, WakeReceipt, WakeRequest } from "../domain/runtimes.ts";

const UNIX = "unix:";
const RECONNECT_MS = 10_000;
const CALL_MS = 30_000;

/** Finds agents by the sidecars of this machine. An agent's id is its address, its workspace the sidecar's project. */
export class LocalRuntimes implements Runtimes {
  readonly #clock: Clock;
  readonly #folder: string;

  /** `folder`: the one in which sidecars announce themselves. */
  constructor(clock: Clock, folder: string) {
    this.#clock = clock;
    this.#folder = folder;
  }

  async find(workspace: string, agent: string, signal: AbortSignal): Promise<Runtime | undefined> {
    const found = await listLocalSidecars(this.#folder);
    let failure: DomainError | undefined;
    for (const sidecar of found.filter((one) => one.agent === agent && one.project === workspace)) {
      if (sidecar.tls) {
        failure = new DomainError("unavailable", `the sidecar of ${agent} wants a certificate`);
        continue;
      }
      const backend = open(sidecar, this.#clock);
      try {
        const status = await backend.status(signal);
        const isSame =
          status.agent === agent && status.projectId === workspace && status.sessionId === sidecar.sessionId;
        if (isSame && status.alive) return new SidecarRuntime(sidecar, backend);
      } catch (err) {
        if (!(err instanceof DomainError) || signal.aborted) throw err;
        failure = err;
      }
      await backend[Symbol.asyncDispose]();
    }
    if (failure !== undefined) throw failure;
    return undefined;
  }
}

function open({ listen }: LocalSidecar, clock: Clock): Backend {
  const isSocket = listen.startsWith(UNIX);
  const connection = isSocket
    ? sidecarTransport({ baseUrl: "http://localhost", socketPath: listen.slice(UNIX.length) })
    : sidecarTransport({ baseUrl: `http://${listen}` });
  return new GRPCSidecarBackend(
    {
      ...{ transport: connection.transport, clock, newId: randomUUID, toError: domainErrorOf, random: Math.random },
      close: () => connection[Symbol.dispose](),
    },
    { where: listen, hint: "see its log", reconnectMs: RECONNECT_MS },
  );
}

class SidecarRuntime implements Runtime {
  readonly kind = "sidecar";
  readonly sessionId: string;
  readonly provider: string;
  readonly #backend: Backend;

  constructor({ sessionId, provider }: LocalSidecar, backend: Backend) {
    this.sessionId = sessionId;
    this.provider = provider;
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

  cancel(requestId: string, signal: AbortSignal): Promise<WakeReceipt | undefined> {
    return known(this.#backend.cancelNudge(requestId, signal));
  }

  async status(signal: AbortSignal): Promise<RuntimeStatus> {
    const { alive, state, stateSince, epoch, draft, dialog, personInputAt } = await this.#backend.status(signal);
    return {
      ...{ alive, state, stateSince, epoch, draft },
      ...(dialog && { dialogTitle: dialog.title }),
      ...(personInputAt !== undefined && { personInputAt }),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#backend[Symbol.asyncDispose]();
  }
}

async function known(receipt: Promise<NudgeReceipt>): Promise<WakeReceipt | undefined> {
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
  return { outcome, error, evidence: seen, ...(typedMs !== undefined && { typedMs }) };
}
