import { randomUUID } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { sidecarTransport } from "../../rpc/client/transport.ts";
import { domainErrorOf } from "../../rpc/common/errors.ts";
import type { Backend } from "../../terminal/backend.ts";
import { type LocalSidecar, listLocalSidecars } from "../../terminal/finding/local-sidecars.ts";
import { GRPCSidecarBackend } from "../../terminal/grpc-sidecar.ts";
import type { Runtime, Runtimes, TurnRunner } from "../domain/runtimes.ts";
import { BackendRuntime } from "./backend-runtime.ts";

const UNIX = "unix:";
const RECONNECT_MS = 10_000;

/**
 * Finds agents through the sidecars on this machine. An agent's id is its address; its workspace is its sidecar's
 * project.
 */
export class LocalRuntimes implements Runtimes {
  readonly kind = "sidecar";
  readonly #clock: Clock;
  readonly #folder: string;
  readonly runner?: TurnRunner;

  /** @param folder where sidecars announce themselves */
  constructor(clock: Clock, folder: string, runner?: TurnRunner) {
    this.#clock = clock;
    this.#folder = folder;
    if (runner !== undefined) this.runner = runner;
  }

  async find(workspace: string, agent: string, signal: AbortSignal): Promise<Runtime | undefined> {
    const found = await listLocalSidecars(this.#folder);
    let failure: DomainError | undefined;
    for (const sidecar of found.filter((one) => one.agent === agent && one.project === workspace)) {
      if (sidecar.tls) {
        failure = new DomainError("unavailable", `the sidecar of ${agent} requires a certificate`);
        continue;
      }
      const backend = open(sidecar, this.#clock);
      try {
        const status = await backend.status(signal);
        const isSame =
          status.agent === agent && status.projectId === workspace && status.sessionId === sidecar.sessionId;
        if (isSame && status.alive) return new BackendRuntime("sidecar", sidecar, backend);
        // The agent is unreachable, not absent: its sidecar may restart it.
        if (isSame)
          failure = new DomainError("unavailable", `the sidecar of ${agent} is running, but its agent is not`);
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
