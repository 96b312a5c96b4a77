import type { Clock } from "../../base/clock.ts";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import type { ListenAddress } from "../port/listen.ts";
import type { ServerRequest, ServerResponse12 } from "../port/request.ts";
import type { Routes } from "./adapter.ts";
import { type HealthState, healthRoutes } from "./health.ts";
import { type HostCheck, hostRefusal } from "./host-check.ts";
import type { Metrics } from "./metrics.ts";
import { reflectionRoutes } from "./reflection.ts";
import { RpcServer, type RpcServerDeps } from "./server.ts";

export interface HealthListenerOptions extends ListenAddress {
  readonly hostCheck: HostCheck;
}

/**
 * A probe is a new connection with one request: it replaces an older connection of any caller. Callers are not
 * authenticated, so a connection may have only a few streams.
 */
const LIMITS = {
  handshakeTimeoutMs: 2000,
  maxConnections: 512,
  maxConnectionsOfOne: 512,
  idleMs: 5000,
  mayCutBusy: true,
  maxStreams: 16,
} as const;
/**
 * Metrics are collected at most this often, since that takes some milliseconds; concurrent scrapes share the result.
 */
const METRICS_MS = 50;

/**
 * The plaintext port for probes: `GET /livez`, `/readyz`, `/metrics`, and `grpc.health.v1` (HTTP/2 and HTTP/1.1). It
 * never carries terminal content. A request with a foreign `Host` or `Origin` (see `hostRefusal`) gets 403. `/livez`
 * answers as long as the event loop runs: it needs no lock and awaits nothing.
 */
export function createHealthServer(
  deps: RpcServerDeps & { readonly health: HealthState; readonly metrics: Metrics },
  options: HealthListenerOptions,
): RpcServer {
  const { health, metrics, clock, logger } = deps;
  const routes: Routes = (router) => {
    healthRoutes(health)(router);
    reflectionRoutes([Health])(router);
  };
  const text = shared(clock, METRICS_MS, async () => Buffer.from(await metrics.registry.metrics()));
  const fallback = (req: ServerRequest, res: ServerResponse12) => {
    const refusal = hostRefusal(hostOf(req), req.headers.origin, options.hostCheck);
    if (refusal !== undefined) return send(res, { status: 403, body: `${refusal}\n` });
    return answerHttp(req, res, health, { text, type: metrics.registry.contentType });
  };
  return new RpcServer(
    { clock, logger },
    { ...options, routes, fallback, readMaxBytes: 4096, graceMs: 500, limits: LIMITS },
  );
}

function hostOf(req: ServerRequest): string | undefined {
  return "authority" in req ? req.authority : req.headers.host;
}

interface MetricsText {
  readonly text: () => Promise<Buffer>;
  readonly type: string;
}

interface Probe {
  readonly status: number;
  readonly body: string | Buffer;
  readonly type?: string;
}

function probe(path: string, health: HealthState): Probe | undefined {
  switch (path) {
    case "/livez":
      return { status: 200, body: "ok\n" };
    case "/readyz":
      return health.get("") ? { status: 200, body: "ok\n" } : { status: 503, body: notServing(health) };
    default:
      return undefined;
  }
}

function notServing({ hindrance }: HealthState): string {
  return `not serving${hindrance === "" ? "" : `: ${hindrance}`}\n`;
}

/** Calls `make` at most once per `ms`; callers within that time share the result. */
function shared<T>(clock: Clock, ms: number, make: () => Promise<T>): () => Promise<T> {
  let begunMs = Number.NEGATIVE_INFINITY;
  let made: Promise<T> | undefined;
  return () => {
    const now = clock.monotonicMs();
    if (made === undefined || now - begunMs >= ms) {
      begunMs = now;
      made = make();
    }
    return made;
  };
}

/** Awaits nothing but the metrics. */
async function answerHttp(req: ServerRequest, res: ServerResponse12, health: HealthState, metrics: MetricsText) {
  const path = req.url?.split("?", 1)[0] ?? "";
  if (req.method !== "GET" && req.method !== "HEAD") return send(res, { status: 405, body: "only GET\n" });
  if (path !== "/metrics") {
    return send(res, probe(path, health) ?? { status: 404, body: "see /livez, /readyz, /metrics\n" });
  }
  send(res, { status: 200, body: await metrics.text(), type: metrics.type });
}

function send(res: ServerResponse12, { status, body, type = "text/plain; charset=utf-8" }: Probe): void {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  res.statusCode = status;
  res.setHeader("content-type", type);
  res.setHeader("content-length", bytes.length);
  res.end(bytes);
}
