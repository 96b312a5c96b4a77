import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { createSecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { createContextValues, type HandlerContext } from "@connectrpc/connect";
import { AuditLog } from "../../internal/auth/audit-log.ts";
import { mintToken } from "../../internal/auth/mint-token.ts";
import { admissionRefusal } from "../../internal/auth/tls/admission.ts";
import { tokenGate } from "../../internal/auth/token-gate.ts";
import { TokenLeases } from "../../internal/auth/token-leases.ts";
import { type TokenKeySet, TokenVerifier } from "../../internal/auth/token-verifier.ts";
import { systemClock as clock } from "../../internal/base/clock.ts";
import { createLogger } from "../../internal/base/logger.ts";
import { SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { checkTls } from "../../internal/pki/tls-files.ts";
import { serverTlsOptions, type TlsMaterial } from "../../internal/rpc/common/tls.ts";
import { peerKey } from "../../internal/rpc/port/peer.ts";
import type { ServerRequest } from "../../internal/rpc/port/request.ts";
import { noteFacts } from "../../internal/rpc/server/call-facts.ts";
import { RpcServer } from "../../internal/rpc/server/server.ts";
import { TestCa } from "../../test/support/bridge/certificates.ts";
import type { BenchContext } from "../context.ts";
import { type Measured, measured } from "../report/row.ts";
import { interleave } from "../stats.ts";
import { cpuUs } from "./cpu-us.ts";
import { measureFloods } from "./floods.ts";

/**
 * Measures the CPU time that a token and a handshake cost this process, and what floods of wrong credentials cost other
 * callers.
 */
export async function measureTrust(context: BenchContext): Promise<readonly Measured[]> {
  const { quick, signal, say } = context;
  const ca = new TestCa("shop");
  say("trust: tokens");
  const tokens = tokenCosts(ca, quick ? 500 : 3000);
  say("trust: handshakes");
  const handshakes = await handshakeCosts(ca, quick ? 50 : 300, signal);
  return [...tokens, ...handshakes, ...(await measureFloods(context))];
}

function tokenCosts(ca: TestCa, count: number): readonly Measured[] {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const keys: TokenKeySet = new Map([["shop", [{ rule: { issuer: "shop" }, key: publicKey }]]]);
  const tls = checkTls(ca.issue({ ips: ["127.0.0.1"] }), "server", clock.now());
  const options = { audience: "bridge", maxTtlMs: 300_000, clockSkewMs: 30_000 };
  const verifier = new TokenVerifier({ clock, keys: () => keys }, options);
  const leases = new TokenLeases({ clock, holds: () => true });
  const gate = tokenGate({ clock, verifier, leases, tls: () => tls }, { required: true, freeServices: new Set() });
  const audit = new AuditLog({ clock, write: () => {} });
  const certificate = new X509Certificate(ca.issue({ uris: ["spiffe://shop/client/app"] }).cert);
  const peer = {
    type: "certificate",
    identities: [],
    serial: "1",
    notAfter: 0,
    address: "127.0.0.1:1",
    certificate,
  } as const;
  const call = (token: string) => {
    const rawHeaders = [...HEADERS, "authorization", `Bearer ${token}`];
    const values = noteFacts(createContextValues().set(peerKey, peer), { rawHeaders } as unknown as ServerRequest);
    const context = {
      values,
      service: SidecarService,
      method: SidecarService.method.peek,
    } as unknown as HandlerContext;
    gate(context);
    audit.call(context, undefined);
  };
  const mint = (subject: string) =>
    mintToken(privateKey, { issuer: "shop", subject, project: "p", audience: "bridge", ttlMs: 300_000 }, clock.now());
  const many = Array.from({ length: count }, (_, i) => mint(`app-${i}`));
  const [one = ""] = many;
  for (let i = 0; i < 2000; i++) call(one);
  const fresh = cpuUs(count - 1, (i) => call(many[i + 1] ?? ""));
  const cached = cpuUs(count * 5, () => call(one));
  return [
    measured("token, seen before: added to a call", cached, "µs CPU", { atMost: 40 }),
    measured("token, new: added to a call", fresh, "µs CPU", { atMost: 300 }),
  ];
}

const HEADERS = [
  ":method",
  "POST",
  ":path",
  "/x",
  ":scheme",
  "https",
  ":authority",
  "x",
  "content-type",
  "x",
  "te",
  "x",
];

/** The cost of both ends, which are in this process. */
async function handshakeCosts(ca: TestCa, count: number, signal: AbortSignal): Promise<readonly Measured[]> {
  const files = ca.issue({ ips: ["127.0.0.1"] });
  const client = ca.issue({ uris: ["spiffe://shop/client/app"] });
  const stop = new AbortController();
  const { trust } = checkTls(files, "server", clock.now());
  const server = new RpcServer(
    { clock, logger: createLogger("bench", "silent") },
    {
      ...{ host: "127.0.0.1", port: 0, tls: files, routes: () => {} },
      limits: { handshakesPerSecond: 1e6, handshakeBurst: 1e6 },
      admit: (certificate, isNew) => admissionRefusal({ certificate, isNew }, trust, clock.now()),
    },
  );
  const running = server.run(stop.signal);
  const plain = createSecureServer({ ...serverTlsOptions(files), allowHTTP1: true }).listen(0, "127.0.0.1");
  await once(plain, "listening");
  const ports = { ours: (await server.listening).port, plain: (plain.address() as AddressInfo).port };
  const cost = { full: { ours: 0, plain: 0 }, resumed: { ours: 0, plain: 0 } };
  const rounds = 4;
  const arm = (which: "ours" | "plain") => async () => {
    cost.full[which] += (await handshakes(ports[which], client, count)) / rounds;
    const session = await sessionOf(ports[which], client);
    cost.resumed[which] += (await handshakes(ports[which], client, count, session)) / rounds;
  };
  await arm("ours")();
  await arm("plain")();
  cost.full = { ours: 0, plain: 0 };
  cost.resumed = { ours: 0, plain: 0 };
  await interleave(rounds, [arm("ours"), arm("plain")], signal);
  plain.close();
  stop.abort();
  await running;
  const row = (name: string, { ours, plain: theirs }: { ours: number; plain: number }) =>
    measured(`${name} (baseline: Node's own server)`, ours, "µs CPU, both ends", { baseline: theirs });
  return [row("handshake, full", cost.full), row("handshake, resumed", cost.resumed)];
}

async function handshakes(port: number, tls: TlsMaterial, count: number, session?: Buffer): Promise<number> {
  const before = process.cpuUsage();
  for (let i = 0; i < count; i++) {
    const socket = await connected(port, tls, session);
    socket.destroy();
    await once(socket, "close");
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

async function sessionOf(port: number, tls: TlsMaterial): Promise<Buffer> {
  let session: Buffer | undefined;
  const socket = await connected(port, tls, undefined, (ticket) => {
    session = ticket;
  });
  socket.destroy();
  if (session === undefined) throw new Error("the server gave no session to resume");
  return session;
}

/** Connects, and waits for the server's first data: then it has accepted the certificate. */
async function connected(
  port: number,
  { cert, key, ca }: TlsMaterial,
  session?: Buffer,
  onSession: (session: Buffer) => void = () => {},
): Promise<TLSSocket> {
  const options = { host: "127.0.0.1", port, cert, key, ca, ALPNProtocols: ["h2"] };
  const socket = connect(session === undefined ? options : { ...options, session });
  socket.on("session", onSession);
  await once(socket, "secureConnect");
  socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0");
  await once(socket, "data");
  return socket;
}
