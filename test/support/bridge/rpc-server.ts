import { TrustedServer } from "../../../internal/auth/serving/trusted-server.ts";
import { systemClock } from "../../../internal/base/clock.ts";
import { DomainError } from "../../../internal/base/errors.ts";
import { createLogger } from "../../../internal/base/logger.ts";
import type { Task } from "../../../internal/base/task-group.ts";
import { NudgeOutcome } from "../../../internal/gen/gastown/v1/common_pb.ts";
import { SidecarService, UpdateKind } from "../../../internal/gen/gastown/v1/sidecar_pb.ts";
import { Health } from "../../../internal/gen/grpc/health/v1/health_pb.ts";
import { type Peer, peerKey } from "../../../internal/rpc/port/peer.ts";
import type { Routes } from "../../../internal/rpc/server/adapter.ts";
import { answering } from "../../../internal/rpc/server/calls.ts";
import { HealthState, healthRoutes } from "../../../internal/rpc/server/health.ts";
import { Metrics } from "../../../internal/rpc/server/metrics.ts";
import { reflectionRoutes } from "../../../internal/rpc/server/reflection.ts";
import { sendHead } from "../../../internal/rpc/server/response-head.ts";
import { RpcServer, type RpcServerOptions } from "../../../internal/rpc/server/server.ts";
import { tlsPlace } from "../../../internal/sidecar/serving/serving-rules.ts";

/**
 * The special values of `lines` in Peek and WatchOutput of the test service; a Peek with `release` continues the answer
 * that `headFirst` began.
 */
export const ASK = { notFound: -404, failLate: -405, bug: -500, wait: -600, headFirst: -700, release: -701 } as const;

export interface RpcFixture extends AsyncDisposable {
  readonly server: RpcServer;
  readonly port: number;
  /** `http://127.0.0.1:port`, or https with TLS. */
  readonly url: string;
  readonly health: HealthState;
  readonly metrics: Metrics;
  /** Lines of the server's log. */
  readonly log: string[];
  /** The callers, newest last. */
  readonly peers: Peer[];
  /** The number of open calls in handlers. */
  open(): number;
  /** Begins a graceful stop; resolves when the server has ended. */
  stop(): Promise<void>;
}

/** A server with a SidecarService without a terminal: `lines` selects its answer. */
export async function startRpcServer(options: Partial<RpcServerOptions> = {}): Promise<RpcFixture> {
  const parts = fixtureParts();
  const routes: Routes = (router) => {
    healthRoutes(parts.seen.health)(router);
    reflectionRoutes([SidecarService, Health])(router);
    parts.options.routes(router);
  };
  const server = new RpcServer(parts.deps, { ...parts.options, routes, ...options });
  const { port, stop } = await start(server, server.listening);
  const url = `${options.tls ? "https" : "http"}://127.0.0.1:${port}`;
  return { ...parts.seen, server, port, url, stop, [Symbol.asyncDispose]: stop };
}

/** The same, with its certificate from a folder that may change, as in a sidecar. */
export async function startTlsFolderServer(
  dir: string,
  options: Partial<Pick<RpcServerOptions, "hostCheck">> = {},
): Promise<Omit<RpcFixture, "server">> {
  const parts = fixtureParts();
  const { host, port: anyPort, routes, graceMs } = parts.options;
  const serving = new TrustedServer(parts.deps, {
    listen: { host, port: anyPort },
    tls: tlsPlace({ dir, trust: undefined }, "s1"),
    tokens: undefined,
    services: [SidecarService],
    rules: () => ({ routes, gates: [] }),
    hostCheck: options.hostCheck ?? { anyHost: true, allowHosts: [] },
    graceMs,
  });
  const { port, stop } = await start(serving, serving.listening);
  return { ...parts.seen, port, url: `https://127.0.0.1:${port}`, stop, [Symbol.asyncDispose]: stop };
}

async function start(task: Task, listening: Promise<{ readonly port: number }>) {
  const stopping = new AbortController();
  const running = task.run(stopping.signal);
  const { port } = await listening;
  const stop = () => {
    stopping.abort();
    return running;
  };
  return { port, stop };
}

function fixtureParts() {
  const log: string[] = [];
  const peers: Peer[] = [];
  const health = new HealthState();
  health.set("", true);
  const metrics = new Metrics();
  const opened = { count: 0 };
  const logger = createLogger("test", "debug", { destination: { write: (line) => void log.push(line) } });
  const routes = sidecarRoutes(opened, peers);
  return {
    deps: { clock: systemClock, logger, health, metrics },
    options: { host: "127.0.0.1", port: 0, routes, graceMs: 1000 },
    seen: { health, metrics, log, peers, open: () => opened.count },
  };
}

function sidecarRoutes(opened: { count: number }, peers: Peer[]): Routes {
  let released = Promise.withResolvers<void>();
  return (router) =>
    router.service(SidecarService, {
      async peek({ lines }, context) {
        const { signal, values } = context;
        peers.push(values.get(peerKey));
        if (lines === ASK.release) released.resolve();
        if (lines === ASK.bug) throw new Error("the secret of the house");
        if (lines === ASK.notFound)
          throw new DomainError("not-found", 'no session "x"', { fields: { epoch: "e1", head: 7 } });
        if (lines === ASK.wait) await counted(opened, () => untilAborted(signal));
        const output = "line\n".repeat(Math.max(lines, 1));
        answering(context, output.length);
        return { output, sessionAlive: true, offset: 2n ** 60n };
      },
      nudge({ message, requestId }) {
        return { delivered: true, requestId, outcome: NudgeOutcome.SUBMITTED, deliveredText: message };
      },
      async *watchOutput({ lines }, context) {
        const { signal } = context;
        opened.count++;
        try {
          if (lines === ASK.headFirst) {
            sendHead(context);
            await released.promise;
            released = Promise.withResolvers();
          }
          yield { kind: UpdateKind.SNAPSHOT, output: "first" };
          if (lines === ASK.failLate || lines === ASK.headFirst)
            throw new DomainError("precondition", "the epoch is stale", { fields: { epoch: "e2" } });
          if (lines === ASK.bug) throw new TypeError("the secret of the house");
          if (lines === ASK.wait) await untilAborted(signal);
          for (let i = 1; i < lines; i++) yield { kind: UpdateKind.CHANGE, output: String(i) };
        } finally {
          opened.count--;
        }
      },
      async *attach(inputs) {
        opened.count++;
        try {
          for await (const { input } of inputs) {
            if (input.case === "data") yield { output: { case: "data", value: input.value } };
          }
          yield { output: { case: "end", value: { reason: "done" } } };
        } finally {
          opened.count--;
        }
      },
    });
}

async function counted(opened: { count: number }, wait: () => Promise<never>): Promise<never> {
  opened.count++;
  try {
    return await wait();
  } finally {
    opened.count--;
  }
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
