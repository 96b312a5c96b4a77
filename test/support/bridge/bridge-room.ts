import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import { AuditLog } from "../../../internal/auth/audit-log.ts";
import { mintToken, type TokenRequest } from "../../../internal/auth/mint-token.ts";
import { systemClock as clock } from "../../../internal/base/clock.ts";
import { createLogger } from "../../../internal/base/logger.ts";
import { Redactor } from "../../../internal/base/redact.ts";
import { runTasks } from "../../../internal/base/task-group.ts";
import { type BridgeLimits, bridgeRoutes } from "../../../internal/bridge/calls/bridge-routes.ts";
import { bridgeServing } from "../../../internal/bridge/calls/bridge-serving.ts";
import { LocalSessions, type LocalSessionsOptions } from "../../../internal/bridge/local/local-sessions.ts";
import type { TerminalLauncher } from "../../../internal/bridge/terminal-launcher.ts";
import { BridgeService } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import {
  type SidecarConnection,
  type SidecarTransportOptions,
  sidecarTransport,
} from "../../../internal/rpc/client/transport.ts";
import type { TlsMaterial } from "../../../internal/rpc/common/tls.ts";
import { HealthState } from "../../../internal/rpc/server/health.ts";
import { Metrics } from "../../../internal/rpc/server/metrics.ts";
import { ScriptedProvider } from "../../fakes/scripted-provider.ts";
import { TestCa } from "./certificates.ts";
import { writeTls } from "./secret.ts";

/** A project with its own CA, client certificate and token key; its name is also its tokens' project. */
export class RoomConsumer {
  readonly name: string;
  readonly ca: TestCa;
  readonly keys: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
  readonly tls: TlsMaterial;

  constructor(name: string) {
    this.name = name;
    this.ca = new TestCa(name);
    this.keys = generateKeyPairSync("ed25519");
    this.tls = this.ca.issue({ uris: [`spiffe://${name}/client/app`] });
  }

  token(request: Partial<TokenRequest> = {}): string {
    const usual = { issuer: this.name, subject: "app", project: this.name, audience: "bridge", ttlMs: 120_000 };
    return mintToken(this.keys.privateKey, { ...usual, ...request }, Date.now());
  }
}

/** Limits that a test with another subject does not reach. */
const LIMITS: BridgeLimits = { startsPerMinute: 300, inputsPerMinute: 600, maxInputBytes: 65_536 };

export interface RoomOptions {
  readonly sessions?: Partial<LocalSessionsOptions>;
  readonly limits?: Partial<BridgeLimits>;
  readonly terminals?: TerminalLauncher;
  readonly provider?: ScriptedProvider;
}

/** BridgeService in this process, behind both layers, over sessions of a scripted provider; two consumers. */
export interface BridgeRoom extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** A folder in which sessions may work. */
  readonly repo: string;
  readonly provider: ScriptedProvider;
  readonly sessions: LocalSessions;
  readonly prd: RoomConsumer;
  readonly ndara: RoomConsumer;
  /** Lines of the audit log, parsed. */
  audited(): readonly Record<string, unknown>[];
  /** A connection of its own, with a new token for each call. */
  connect(
    by: RoomConsumer,
    token?: Partial<TokenRequest>,
    more?: Pick<Partial<SidecarTransportOptions>, "baseUrl" | "pingIntervalMs" | "pingTimeoutMs">,
  ): SidecarConnection;
  /** The same, as a client. */
  client(by: RoomConsumer, token?: Partial<TokenRequest>): Client<typeof BridgeService>;
  /** The options with which another transport connects as `by`. */
  nodeOptions(by: RoomConsumer): { readonly cert: string; readonly key: string; readonly ca: string };
  authorize(by: RoomConsumer, token?: Partial<TokenRequest>): Interceptor;
}

const SESSIONS = {
  ...{ maxPerProject: 50, maxGlobal: 100, idleTimeoutMs: 600_000, stopGraceMs: 500, retentionMs: 600_000 },
  ...{ eventBuffer: 10_000, eventBytes: 16 * 1024 * 1024 },
};

export async function startBridgeRoom(options: RoomOptions = {}): Promise<BridgeRoom> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), "gt-room-")));
  const repo = join(dir, "repo");
  await mkdir(repo);
  const own = new TestCa("ai-agent-bridge");
  const consumers = [new RoomConsumer("prd-manager"), new RoomConsumer("ndara")] as const;
  const bundle = own.pem + consumers.map(({ ca }) => own.crossSign(ca, { pathLength: 0 })).join("");
  await writeTls(join(dir, "tls"), { ...own.issue({ ips: ["127.0.0.1"] }), ca: bundle });
  const keyFiles = [];
  for (const { name, keys } of consumers) {
    const path = join(dir, `${name}.pub`);
    await writeFile(path, keys.publicKey.export({ type: "spki", format: "pem" }));
    keyFiles.push({ path, rule: { issuer: name } });
  }
  const lines: string[] = [];
  const logger = createLogger("test", "error", { destination: { write: (line) => void process.stderr.write(line) } });
  const audit = new AuditLog({ clock, write: (line) => void lines.push(line) });
  const { provider = new ScriptedProvider(), terminals } = options;
  const sessions = new LocalSessions(
    { clock, logger, redactor: new Redactor(["hunter\\d+"]), providers: [provider], terminals },
    { ...SESSIONS, allowedPaths: [dir], ...options.sessions },
  );
  const stop = new AbortController();
  const isServing = () => !stop.signal.aborted;
  const routes = bridgeRoutes({ clock, backend: sessions, audit, isServing }, { ...LIMITS, ...options.limits });
  const serving = bridgeServing(
    { clock, logger, health: new HealthState(), metrics: new Metrics(), audit },
    {
      listen: { host: "127.0.0.1", port: 0 },
      tls: { dir: join(dir, "tls") },
      tokens: { keyFiles, audience: "bridge" },
      routes,
      graceMs: 500,
    },
  );
  const running = runTasks(stop.signal, [serving, sessions]);
  const { port } = await serving.listening;
  const url = `https://127.0.0.1:${port}`;
  const open: SidecarConnection[] = [];
  const authorize =
    (by: RoomConsumer, token?: Partial<TokenRequest>): Interceptor =>
    (next) =>
    (request) => {
      request.header.set("authorization", `Bearer ${by.token(token)}`);
      return next(request);
    };
  const nodeOptions = ({ tls: { cert, key } }: RoomConsumer) => ({ cert, key, ca: own.pem });
  const connect: BridgeRoom["connect"] = (by, token, more) => {
    const interceptors = [authorize(by, token)];
    const connection = sidecarTransport({ baseUrl: url, tls: nodeOptions(by), interceptors, ...more });
    open.push(connection);
    return connection;
  };
  const [prd, ndara] = consumers;
  const transports = new Map<string, Transport>();
  const client = (by: RoomConsumer, token?: Partial<TokenRequest>) => {
    const key = JSON.stringify([by.name, token]);
    const transport = transports.get(key) ?? connect(by, token).transport;
    transports.set(key, transport);
    return createClient(BridgeService, transport);
  };
  const end = async () => {
    stop.abort();
    for (const connection of open) connection[Symbol.dispose]();
    await running;
    await rm(dir, { recursive: true, force: true });
  };
  const audited = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return {
    ...{ url, port, repo, provider, sessions, prd, ndara, audited, connect, client, nodeOptions, authorize },
    [Symbol.asyncDispose]: end,
  };
}
