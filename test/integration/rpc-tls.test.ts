import { request as httpsRequest } from "node:https";
import { connect as connectTls } from "node:tls";
import { createClient } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../internal/base/clock.ts";
import { createLogger } from "../../internal/base/logger.ts";
import { SidecarService } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { sidecarTransport } from "../../internal/rpc/client/transport.ts";
import { domainErrorOf } from "../../internal/rpc/common/errors.ts";
import type { TlsMaterial } from "../../internal/rpc/common/tls.ts";
import { RpcServer } from "../../internal/rpc/server/server.ts";
import { TestCa } from "../support/bridge/certificates.ts";
import { ASK, startRpcServer } from "../support/bridge/rpc-server.ts";

const ca = new TestCa("ours");
const other = new TestCa("others");
const serverTls = ca.issue({ ips: ["127.0.0.1"], uris: ["spiffe://test/ns/a/session/1"] });
const clientTls = ca.issue({ uris: ["spiffe://test/client/alice"] });

async function peek(baseUrl: string, tls?: TlsMaterial, protocol: "connect" | "grpc" = "connect"): Promise<unknown> {
  using connection = sidecarTransport({ baseUrl, protocol, tls });
  const client = createClient(SidecarService, connection.transport);
  try {
    return (await client.peek({ lines: 1 }, { timeoutMs: 5000 })).output;
  } catch (err) {
    return domainErrorOf(err);
  }
}

describe("a server with certificates", () => {
  it.each(["connect", "grpc"] as const)("identifies a caller by its certificate's URI (%s)", async (protocol) => {
    await using fixture = await startRpcServer({ tls: serverTls });
    expect(await peek(fixture.url, clientTls, protocol)).toBe("line\n");
    expect(fixture.peers).toMatchObject([{ type: "certificate", identities: ["spiffe://test/client/alice"] }]);
  });

  it("serves HTTP/1.1 to callers with a certificate", async () => {
    await using fixture = await startRpcServer({ tls: serverTls });
    const options = { ...clientTls, method: "POST", headers: { "content-type": "application/json" }, agent: false };
    const status = await new Promise((resolve, reject) => {
      const req = httpsRequest(`${fixture.url}/gastown.v1.SidecarService/Peek`, options);
      req
        .on("response", (res) => resolve(res.resume().statusCode))
        .on("error", reject)
        .end("{}");
    });
    expect(status).toBe(200);
    expect(fixture.peers).toMatchObject([{ type: "certificate" }]);
  });

  it.each<[string, TlsMaterial]>([
    ["another CA's certificate", { ...other.issue({ uris: ["spiffe://test/client/alice"] }), ca: ca.pem }],
    ["an expired certificate", ca.issue({ uris: ["spiffe://test/client/alice"], days: -0.5 })],
  ])("refuses %s", async (_what, tls) => {
    await using fixture = await startRpcServer({ tls: serverTls });
    expect(await peek(fixture.url, tls)).toMatchObject({ kind: "unauthenticated" });
    expect(fixture.peers).toEqual([]);
  });

  it("refuses a caller without certificate", async () => {
    await using fixture = await startRpcServer({ tls: serverTls });
    const code = await new Promise((resolve) => {
      const socket = connectTls({ host: "127.0.0.1", port: fixture.port, ca: ca.pem, ALPNProtocols: ["h2"] });
      socket.on("error", (err: NodeJS.ErrnoException) => resolve(err.code)).on("end", () => resolve("ended"));
    });
    expect(code).toBe("ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED");
  });

  it("speaks TLS 1.3 only, even after its certificate was changed", async () => {
    await using fixture = await startRpcServer({ tls: serverTls });
    const tls12 = () =>
      new Promise((resolve) => {
        const socket = connectTls({ host: "127.0.0.1", port: fixture.port, ...clientTls, maxVersion: "TLSv1.2" });
        socket.on("secureConnect", () => resolve("accepted")).on("error", (err) => resolve(err.name));
      });
    expect(await tls12()).toBe("Error");
    fixture.server.setTls(ca.issue({ ips: ["127.0.0.1"] }));
    expect(await tls12()).toBe("Error");
  });

  it("uses a changed certificate and CA for new connections while streams continue", async () => {
    await using fixture = await startRpcServer({ tls: serverTls });
    using connection = sidecarTransport({ baseUrl: fixture.url, tls: clientTls });
    const client = createClient(SidecarService, connection.transport);
    const stream = client.watchOutput({ lines: ASK.wait })[Symbol.asyncIterator]();
    await stream.next();
    fixture.server.setTls(other.issue({ ips: ["127.0.0.1"] }));
    expect(await peek(fixture.url, clientTls)).toMatchObject({ kind: "unauthenticated" });
    expect(await peek(fixture.url, other.issue({ uris: ["spiffe://test/client/bob"] }))).toBe("line\n");
    expect((await client.peek({ lines: 1 })).output).toBe("line\n");
    expect(fixture.open()).toBe(1);
  });

  it("keeps the old certificate when the new one is unreadable", async () => {
    await using fixture = await startRpcServer({ tls: serverTls });
    expect(() => fixture.server.setTls({ ...serverTls, cert: "no PEM" })).toThrow();
    expect(await peek(fixture.url, clientTls)).toBe("line\n");
  });
});

it("fails to start with TLS material that is not PEM, and rejects the promise of its port", async () => {
  const deps = { clock: systemClock, logger: createLogger("test", "silent") };
  const tls = { ...serverTls, key: "no PEM" };
  const server = new RpcServer(deps, { host: "127.0.0.1", port: 0, routes: () => {}, tls });
  await expect(server.run(new AbortController().signal)).rejects.toThrow();
  await expect(server.listening).rejects.toThrow();
});

describe("a client", () => {
  it("does not trust a server of another CA or with another name", async () => {
    await using strange = await startRpcServer({ tls: other.issue({ ips: ["127.0.0.1"] }) });
    expect(await peek(strange.url, clientTls)).toMatchObject({ kind: "unauthenticated" });
    await using misnamed = await startRpcServer({ tls: ca.issue({ ips: ["10.0.0.1"] }) });
    expect(await peek(misnamed.url, clientTls)).toMatchObject({ kind: "unauthenticated" });
  });

  it.each(["connect", "grpc"] as const)(
    "reports a server as unreachable that does not listen or does not speak TLS as the client does (%s)",
    async (protocol) => {
      const fixture = await startRpcServer();
      const plain = await startRpcServer({ tls: serverTls });
      expect(await peek(fixture.url.replace("http", "https"), clientTls, protocol)).toMatchObject({
        kind: "unavailable",
      });
      expect(await peek(plain.url.replace("https", "http"), undefined, protocol)).toMatchObject({
        kind: "unavailable",
      });
      await Promise.all([fixture.stop(), plain.stop()]);
      expect(await peek(fixture.url, undefined, protocol)).toMatchObject({ kind: "unavailable" });
      expect(await peek("http://no-such-host.invalid:1", undefined, protocol)).toMatchObject({ kind: "unavailable" });
    },
  );
});
