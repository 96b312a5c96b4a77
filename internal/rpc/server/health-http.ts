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

/** A probe is a new connection with one request: it gets the place of an older one, whoever holds that. */
const LIMITS = {
  handshakeTimeoutMs: 2000,
  maxConnections: 512,
  maxConnectionsOfOne: 512,
  idleMs: 5000,
  mayCutBusy: true,
} as const;

/**
 * The plaintext port for probes: `GET /livez`, `/readyz`, `/metrics`, and `grpc.health.v1` (HTTP/2 and HTTP/1.1). It
 * carries no terminal content. A request whose `Host` or `Origin` is foreign (see `hostRefusal`) gets 403. `/livez`
 * answers as long as the event loop turns: it takes no lock and awaits nothing.
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
  const fallback = (req: ServerRequest, res: ServerResponse12) => {
    const refusal = hostRefusal(hostOf(req), req.headers.origin, options.hostCheck);
    if (refusal !== undefined) return send(res, { status: 403, body: `${refusal}\n` });
    return answerHttp(req, res, health, metrics);
  };
  return new RpcServer(
    { clock, logger },
    { ...options, routes, fallback, readMaxBytes: 4096, graceMs: 500, limits: LIMITS },
  );
}

function hostOf(req: ServerRequest): string | undefined {
  return "authority" in req ? req.authority : req.headers.host;
}

interface Probe {
  readonly status: number;
  readonly body: string;
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

/** Awaits nothing but the metrics. */
async function answerHttp(req: ServerRequest, res: ServerResponse12, health: HealthState, metrics: Metrics) {
  const path = req.url?.split("?", 1)[0] ?? "";
  if (req.method !== "GET" && req.method !== "HEAD") return send(res, { status: 405, body: "only GET\n" });
  if (path !== "/metrics") {
    return send(res, probe(path, health) ?? { status: 404, body: "see /livez, /readyz, /metrics\n" });
  }
  const body = await metrics.registry.metrics();
  send(res, { status: 200, body, type: metrics.registry.contentType });
}

function send(res: ServerResponse12, { status, body, type = "text/plain; charset=utf-8" }: Probe): void {
  const bytes = Buffer.from(body);
  res.statusCode = status;
  res.setHeader("content-type", type);
  res.setHeader("content-length", bytes.length);
  res.end(bytes);
}
