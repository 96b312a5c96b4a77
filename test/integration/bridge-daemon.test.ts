import { execFile } from "node:child_process";
import { mkdir, readFile, rename, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Health } from "../../internal/gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../internal/gen/grpc/reflection/v1/reflection_pb.ts";
import {
  BridgeFolder,
  type CallerOptions,
  type Consumer,
  type RunningBridge,
} from "../support/bridge/bridge-folder.ts";
import { TestCa } from "../support/bridge/certificates.ts";
import { until } from "../support/sidecar/sidecar.ts";

/** A replaced file is noticed before this time. */
const TAKEN_MS = 600;

let folder: BridgeFolder;
let bridge: RunningBridge;
beforeAll(async () => {
  folder = await BridgeFolder.create();
  await writeFile(folder.path("certs/crl.pem"), folder.ca.revoke([], { number: 1 }));
  bridge = await folder.start({
    tls: { ca_bundle: "certs/ca-bundle.crt", crl: "certs/crl.pem" },
    crl: { listen: "127.0.0.1:0", url: "http://bridge.example.com:9447/ca.crl" },
    audit: { path: "audit.log" },
  });
});
afterAll(() => folder[Symbol.asyncDispose]());

const health = (by: Consumer, options?: CallerOptions) =>
  createClient(Health, folder.transport(bridge, by, options)).check({});

async function answerOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => "ok",
    (err: { readonly code?: number; readonly rawMessage?: string }) => `${err.code} ${err.rawMessage}`,
  );
}

describe("every RPC, health and reflection included, needs a certificate and a token:", () => {
  it("both consumers are accepted, each with a certificate of its own CA", async () => {
    expect(await answerOf(health(folder.prd))).toBe("ok");
    expect(await answerOf(health(folder.ndara))).toBe("ok");
    expect((await folder.client(bridge, folder.prd).health({})).status).toBe("serving");
  });

  it.each<[string, () => CallerOptions]>([
    ["no token", () => ({ authorization: "" })],
    [
      "a token of another consumer's key",
      () => ({ authorization: `Bearer ${folder.token({ ...folder.ndara, name: "prd-manager" })}` }),
    ],
    ["another consumer's certificate", () => ({ tls: folder.ndara.tls })],
    [
      "a certificate of an untrusted CA",
      () => ({ tls: new TestCa("prd-manager").issue({ uris: ["spiffe://x/client/a"] }) }),
    ],
    ["a certificate for servers", () => ({ tls: folder.prd.ca.issue({ ips: ["127.0.0.1"] }) })],
    ["a token for another audience", () => ({ token: { audience: "gt-sidecar" } })],
    ["an expired token", () => ({ authorization: `Bearer ${folder.token(folder.prd, { ttlMs: -1000 })}` })],
  ])("%s is refused, by every service", async (_, options) => {
    const transport = folder.transport(bridge, folder.prd, options());
    const reflected = async () => {
      const requests = (async function* () {
        yield { messageRequest: { case: "listServices" as const, value: "" } };
      })();
      for await (const answer of createClient(ServerReflection, transport).serverReflectionInfo(requests))
        return answer;
      return undefined;
    };
    const answers = await Promise.all([
      answerOf(folder.client(bridge, folder.prd, options()).listSessions({})),
      answerOf(createClient(Health, transport).check({})),
      answerOf(reflected()),
    ]);
    for (const answer of answers) expect(answer).toMatch(/^16 /);
  });

  it("each decision is audited, and no token is written", async () => {
    await answerOf(health(folder.prd, { authorization: "Bearer secret-of-mine" }));
    const lines = await until("a refusal in the audit log", 30_000, async () => {
      const found = await folder.audited("audit.log");
      return found.some(({ outcome }) => outcome === "refused") ? found : undefined;
    });
    expect(lines).toContainEqual(
      expect.objectContaining({ outcome: "allowed", issuer: "prd-manager", subject: "app" }),
    );
    expect(await readFile(folder.path("audit.log"), "utf8")).not.toContain("secret-of-mine");
  });
});

describe("the bridge follows the files of its configuration:", () => {
  it("it serves a new server certificate, and ignores a truncated one", async () => {
    await folder.issueServer({ ips: ["127.0.0.1"], cn: "second" });
    await until(
      "the new certificate",
      30_000,
      async () => ((await servedName()) === "second" ? true : undefined),
      bridge.log,
    );
    await writeFile(folder.path("certs/bridge.crt"), "-----BEGIN CERTIFICATE-----\n");
    await until(
      "the refusal",
      30_000,
      () => bridge.log().includes("the certificate files were refused") || undefined,
      bridge.log,
    );
    expect(bridge.log()).toContain(folder.path("certs/bridge.crt"));
    expect(await servedName()).toBe("second");
    await folder.issueServer({ ips: ["127.0.0.1"], cn: "third" });
    await until("the good one", 30_000, async () => ((await servedName()) === "third" ? true : undefined), bridge.log);
  });

  it.each([
    ["bridge.crt", "the certificate files were refused"],
    ["bridge.key", "the certificate files were refused"],
    ["ca-bundle.crt", "the certificate files were refused"],
    ["prd-manager-jwt.pub", "a token key file cannot be used"],
  ])(
    "when %s is replaced by something unusable, its previous content stays in use until the next usable one",
    async (name, words) => {
      const path = folder.path("certs", name);
      const good = await readFile(path);
      const put = async (make: () => Promise<unknown>) => {
        await rm(path, { recursive: true });
        await make();
      };
      const said = () => bridge.log().split(words).length;
      const odd: readonly (readonly [what: string, make: () => Promise<unknown>])[] = [
        ["a FIFO", () => promisify(execFile)("mkfifo", [path])],
        ["a folder", () => mkdir(path)],
        ["nothing", () => writeFile(path, "")],
        ["a link to itself", () => symlink(path, path)],
        ["too much", () => writeFile(path, "").then(() => truncate(path, 17 * 1024 * 1024))],
      ];
      for (const [what, make] of odd) {
        const before = said();
        await put(make);
        await until(`${what} to be told`, 30_000, () => said() > before || undefined, bridge.log);
        expect([what, await answerOf(health(folder.prd))]).toEqual([what, "ok"]);
        await put(() => writeFile(path, good, { mode: 0o600 }));
        await sleep(TAKEN_MS);
      }
      expect(await answerOf(health(folder.prd))).toBe("ok");
    },
  );

  it("callers of a CA that has left the bundle are refused", async () => {
    await folder.writeBundle([folder.prd]);
    await until(
      "the refusal",
      30_000,
      async () => ((await answerOf(health(folder.ndara))) === "ok" ? undefined : true),
      bridge.log,
    );
    expect(await answerOf(health(folder.prd))).toBe("ok");
    await folder.writeBundle([folder.prd, folder.ndara]);
    await until(
      "the way back",
      30_000,
      async () => ((await answerOf(health(folder.ndara))) === "ok" ? true : undefined),
      bridge.log,
    );
  });

  it("tokens of a replaced key are refused", async () => {
    await folder.writeTokenKey(folder.ndara, "certs/prd-manager-jwt.pub");
    await until(
      "the refusal",
      30_000,
      async () => ((await answerOf(health(folder.prd))) === "ok" ? undefined : true),
      bridge.log,
    );
    await folder.writeTokenKey(folder.prd, "certs/prd-manager-jwt.pub");
    await until(
      "the way back",
      30_000,
      async () => ((await answerOf(health(folder.prd))) === "ok" ? true : undefined),
      bridge.log,
    );
  });

  it("a revoked caller is refused, and the revocation list is served", async () => {
    const other = folder.ca.issue({ uris: ["spiffe://ai-agent-bridge/client/prd-manager"] });
    expect(await answerOf(health(folder.prd, { tls: other }))).toBe("ok");
    const list = folder.ca.revoke([other], { number: 2 });
    await writeFile(folder.path("certs/crl.pem.new"), list);
    await rename(folder.path("certs/crl.pem.new"), folder.path("certs/crl.pem"));
    await until(
      "the refusal",
      30_000,
      async () => {
        const answer = await answerOf(health(folder.prd, { tls: other }));
        return answer === "ok" ? undefined : answer;
      },
      bridge.log,
    );
    const address = /"listen":"([^"]+)","path":"\/ca.crl"/.exec(bridge.log())?.[1];
    const served = await get(`http://${address}/ca.crl`);
    expect(served.type).toBe("application/pkix-crl");
    expect(served.body.toString("base64")).toBe(list.replaceAll(/-----[^-]+-----|\n/g, ""));
  });
});

it("probes and metrics in plaintext contain only numbers", async () => {
  expect((await get(`${bridge.healthUrl}/livez`)).status).toBe(200);
  expect((await get(`${bridge.healthUrl}/readyz`)).status).toBe(200);
  const metrics = (await get(`${bridge.healthUrl}/metrics`)).body.toString();
  expect(metrics).toContain("gastown_tls_certificate_expiry_timestamp_seconds");
  expect(metrics).toContain("gastown_bridge_sessions");
  expect((await get(`${bridge.healthUrl}/bridge.v1.BridgeService/ListSessions`)).status).toBe(404);
});

/** The common name of the certificate that a new connection gets. */
async function servedName(): Promise<string> {
  const { connect } = await import("node:tls");
  const { cert, key } = folder.prd.tls;
  const socket = connect({ host: "127.0.0.1", port: bridge.port, ca: folder.ca.pem, cert, key });
  try {
    await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
    return String(socket.getPeerCertificate().subject.CN);
  } finally {
    socket.destroy();
  }
}

interface Got {
  readonly status: number;
  readonly type: string;
  readonly body: Buffer;
}

function get(url: string): Promise<Got> {
  return new Promise((resolve, reject) => {
    const req = httpRequest(url, { agent: false }, async (res) => {
      const body = Buffer.concat(await res.toArray());
      resolve({ status: res.statusCode ?? 0, type: res.headers["content-type"] ?? "", body });
    });
    req.once("error", reject).end();
  });
}
