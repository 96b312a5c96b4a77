import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocketServer } from "ws";
import { AuditLog } from "../../../internal/auth/audit-log.ts";
import { mintToken, type TokenRequest } from "../../../internal/auth/mint-token.ts";
import { RateLimiter } from "../../../internal/auth/rate-limiter.ts";
import { TrustedServer, type TrustedServerOptions } from "../../../internal/auth/serving/trusted-server.ts";
import { tokenKey } from "../../../internal/auth/token-gate.ts";
import { systemClock as clock } from "../../../internal/base/clock.ts";
import { errorText } from "../../../internal/base/errors.ts";
import { SidecarService } from "../../../internal/gen/gastown/v1/sidecar_pb.ts";
import type { UpgradeRoute } from "../../../internal/rpc/routes/route.ts";
import type { Routes } from "../../../internal/rpc/server/adapter.ts";
import type { CallContext } from "../../../internal/rpc/server/call-facts.ts";
import { HealthState } from "../../../internal/rpc/server/health.ts";
import { Metrics } from "../../../internal/rpc/server/metrics.ts";
import { TestCa } from "../bridge/certificates.ts";
import { MountedSecret } from "../bridge/secret.ts";
import { silentLogger } from "../silent-logger.ts";

/** A line of the audit log. */
interface Audited {
  readonly event: string;
  readonly outcome: string;
  readonly call?: string;
  readonly code?: string;
  readonly reason?: string;
  readonly subject?: string;
}

export interface TrustedRoom extends AsyncDisposable {
  readonly server: TrustedServer;
  /** The CA that issues the certificates of the server and its callers. */
  readonly ca: TestCa;
  readonly port: number;
  readonly metrics: Metrics;
  readonly audited: () => readonly Audited[];
  /** A token of the issuer `shop`. */
  readonly token: (more?: Partial<TokenRequest>) => string;
  readonly client: { readonly cert: string; readonly key: string };
  /** Revokes this certificate. */
  readonly revoke: (client: { readonly cert: string }) => Promise<void>;
  /** The path of the unix socket, if it listens on one. */
  readonly path: string;
  /** Whether the drain has begun: its first step is to report NOT_SERVING. */
  readonly isStopping: () => boolean;
  /** Begins the drain; resolves when the server has ended. */
  readonly stop: () => Promise<void>;
}

const URI = "spiffe://shop.example/client/app";

/** A caller with its own certificate. */
export const newClient = ({ ca }: Pick<TrustedRoom, "ca">) => ca.issue({ uris: [URI] });

/** Starts a server with a unary call, a stream, the routes `/answer`, `/deaf` and `/echo`, and a WebSocket. */
export async function openRoom(
  options: Partial<TrustedServerOptions> & { readonly onSocket?: boolean } = {},
): Promise<TrustedRoom> {
  const ca = new TestCa("shop");
  const own = ca.issue({ ips: ["127.0.0.1"] });
  const folder = await mkdtemp(join(tmpdir(), "gt-room-"));
  const secret = await MountedSecret.create({ ...own, crl: ca.revoke([]) });
  const keys = generateKeyPairSync("ed25519");
  const path = join(folder, "shop.pub");
  await writeFile(path, keys.publicKey.export({ type: "spki", format: "pem" }));
  const lines: string[] = [];
  const metrics = new Metrics();
  const audit = new AuditLog({ clock, write: (line) => void lines.push(line) });
  const tokens = { keyFiles: [{ path, rule: { issuer: "shop" } }], audience: "test" };
  const hasty = new RateLimiter({ clock }, { what: "calls", perMinute: 1 });
  const limitHasty = ({ values, service, method }: CallContext) => {
    const subject = values.get(tokenKey)?.claims.subject;
    if (subject === "hasty") hasty.take(`${service.typeName}/${method.name}`);
  };
  const health = new HealthState();
  health.set("", true);
  const { onSocket = false, ...given } = options;
  const socketPath = join(folder, "s");
  const server = new TrustedServer(
    { clock, logger: silentLogger, health, metrics, audit },
    {
      listen: { host: "127.0.0.1", port: 0, ...(onSocket && { path: socketPath }) },
      tls: onSocket ? undefined : { dir: secret.dir },
      services: [SidecarService],
      plain: { routes: [answer, deaf, echo], upgrades: [socket] },
      rules: () => ({ routes: rpcs, gates: [limitHasty] }),
      hostCheck: { allowHosts: [] },
      graceMs: 15_000,
      ...given,
      tokens: { ...tokens, required: true, freeServices: new Set(), ...options.tokens },
    },
  );
  const stopping = new AbortController();
  const running = server.run(stopping.signal);
  const { port } = await server.listening;
  const stop = () => {
    stopping.abort();
    return running;
  };
  const revoked: { readonly cert: string }[] = [];
  return {
    ...{ server, ca, port, path: socketPath, metrics, client: ca.issue({ uris: [URI] }), stop },
    isStopping: () => !health.get(""),
    audited: () => lines.map((line) => JSON.parse(line) as Audited),
    token: (more = {}) => {
      const request = { issuer: "shop", subject: "app", project: "shop", audience: "test", ttlMs: 120_000, ...more };
      return mintToken(keys.privateKey, request, Date.now());
    },
    revoke: async (client) => {
      revoked.push(client);
      await secret.put({ ...own, crl: ca.revoke(revoked) });
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await secret[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

/** The parsed certificate, as `TokenRequest.certificate` needs it. */
export const certificateOf = ({ cert }: { readonly cert: string }) => new X509Certificate(cert);

const rpcs: Routes = (router) =>
  router.service(SidecarService, {
    peek: () => ({ output: "here" }),
    async *watchOutput(_, { signal }) {
      yield { output: "first" };
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
    },
  });

/** Stays open until the call ends, and then returns the reason. */
const answer = {
  path: "/answer",
  methods: ["GET"],
  handle: (_: Request, { signal }: CallContext) => new Response(untilAborted(signal, (why) => `ended: ${why}`)),
};

/** Ignores the end of its call. */
const deaf = { path: "/deaf", methods: ["GET"], handle: () => new Response(untilAborted(undefined, () => "")) };

const echo = {
  path: "/echo/*",
  methods: ["POST"],
  maxBodyBytes: 1024,
  refusalHeaders: () => ({ "www-authenticate": "Bearer" }),
  handle: async (request: Request) => Response.json({ url: new URL(request.url).pathname, text: await request.text() }),
};

function untilAborted(signal: AbortSignal | undefined, last: (why: string) => string): ReadableStream<Uint8Array> {
  const bytes = (text: string) => new TextEncoder().encode(text);
  return new ReadableStream({
    start(out) {
      out.enqueue(bytes("open"));
      const end = () => {
        out.enqueue(bytes(last(errorText(signal?.reason))));
        out.close();
      };
      signal?.addEventListener("abort", end, { once: true });
    },
  });
}

/** Echoes; closes with the reason when its call ends. */
const socket: UpgradeRoute = {
  path: "/socket",
  handle({ req, take }, { signal }) {
    const server = new WebSocketServer({ noServer: true });
    const taken = take();
    server.handleUpgrade(req, taken.socket, taken.head, (ws) => {
      ws.on("message", (text) => ws.send(String(text)));
      const end = () => ws.close(4000, errorText(signal.reason).slice(0, 120));
      if (signal.aborted) end();
      else signal.addEventListener("abort", end, { once: true });
    });
    return undefined;
  },
};
