import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { credentials, loadPackageDefinition, type ServiceClientConstructor, status } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { execa } from "execa";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { TlsMaterial } from "../../internal/rpc/common/tls.ts";
import { TestCa } from "../support/bridge/certificates.ts";
import { requireGrpcPython } from "../support/bridge/python-grpc.ts";
import { ASK, startTlsFolderServer } from "../support/bridge/rpc-server.ts";
import { MountedSecret, writeTls } from "../support/bridge/secret.ts";
import { requireComponent } from "../support/cluster/components.ts";
import { runToEnd } from "../support/run-to-end.ts";

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const PEEK = "gastown.v1.SidecarService/Peek";

const town = new TestCa("town");
const known = town.issue({ uris: ["spiffe://town/client/ann"] });
const revoked = town.issue({ uris: ["spiffe://town/client/bob"] });

let secret: MountedSecret;
let server: Awaited<ReturnType<typeof startTlsFolderServer>>;
let dir: string;
let address: string;
const file = (who: "known" | "revoked", name: string) => join(dir, who, name);

beforeAll(async () => {
  secret = await MountedSecret.create({ ...town.issue({ ips: ["127.0.0.1"] }), crl: town.revoke([revoked]) });
  server = await startTlsFolderServer(secret.dir);
  address = `127.0.0.1:${server.port}`;
  dir = await mkdtemp(join(tmpdir(), "gt-foreign-"));
  await writeTls(join(dir, "known"), known);
  await writeTls(join(dir, "revoked"), revoked);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await secret[Symbol.asyncDispose]();
  await rm(dir, { recursive: true });
});

/** The error text of a program if it fails, else its output. */
async function say(program: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runToEnd(program, args);
  return code === 0 ? stdout : stderr + stdout;
}

it("grpc-js is identified by its certificate, and learns that it was revoked", async () => {
  const { gastown } = loadPackageDefinition(
    loadSync(["gastown/v1/sidecar.proto"], {
      includeDirs: [at("proto")],
      longs: String,
      enums: String,
      keepCase: true,
    }),
  ) as unknown as { gastown: { v1: { SidecarService: ServiceClientConstructor } } };
  const peek = async (tls?: TlsMaterial) => {
    const own = tls && ([Buffer.from(tls.key), Buffer.from(tls.cert)] as const);
    const client = new gastown.v1.SidecarService(address, credentials.createSsl(Buffer.from(town.pem), ...(own ?? [])));
    try {
      return await promisify((client["Peek"] as unknown as (r: object, done: () => void) => void).bind(client))({
        lines: 1,
      }).catch((err: unknown) => err);
    } finally {
      client.close();
    }
  };
  expect(await peek(known)).toMatchObject({ output: "line\n" });
  const details = "the caller's certificate is revoked";
  expect(await peek(revoked)).toMatchObject({ code: status.UNAUTHENTICATED, details });
  expect(await peek()).toMatchObject({ code: status.UNAVAILABLE });
});

it("Python's gRPC calls, streams and sees failures, only with a certificate", {
  timeout: 180_000,
}, async (context) => {
  const python = await requireGrpcPython(context);
  const client = (who: "known" | "revoked") =>
    execa(python, [
      at("test/fakes/grpc-client.py"),
      address,
      file(who, "ca.crt"),
      file(who, "tls.crt"),
      file(who, "tls.key"),
    ]).then(({ stdout }) => JSON.parse(stdout));
  expect(await client("known")).toEqual({
    peek: 3,
    failure: { code: "NOT_FOUND", details: 'no session "x"' },
    watch: 3,
    nobody: { code: "UNAVAILABLE", details: expect.any(String) },
  });
  const refused = { code: "UNAUTHENTICATED", details: "the caller's certificate is revoked" };
  expect(await client("revoked")).toMatchObject({ peek: refused, watch: refused });
});

it.for(["--http1.1", "--http2"])("curl %s makes calls only with a certificate", async (version, context) => {
  const curl = await requireComponent(context, "curl");
  const ask = (...who: string[]) => {
    const json = ["-H", "content-type: application/json", "-d", '{"lines": 1}'];
    return say(
      curl,
      "-sS",
      version,
      "--cacert",
      file("known", "ca.crt"),
      ...who,
      ...json,
      `https://${address}/${PEEK}`,
    );
  };
  const as = (who: "known" | "revoked") => ["--cert", file(who, "tls.crt"), "--key", file(who, "tls.key")];
  expect(JSON.parse(await ask(...as("known")))).toMatchObject({ output: "line\n" });
  expect(JSON.parse(await ask(...as("revoked")))).toMatchObject({ code: "unauthenticated" });
  expect(await ask()).toMatch(/^curl: \(\d+\)/);
});

it("grpcurl lists and calls by reflection only with a certificate", async (context) => {
  const grpcurl = await requireComponent(context, "grpcurl");
  const as = (who: "known" | "revoked") => ["-cert", file(who, "tls.crt"), "-key", file(who, "tls.key")];
  const ca = ["-cacert", file("known", "ca.crt")];
  expect(await say(grpcurl, ...ca, ...as("known"), address, "list")).toContain("gastown.v1.SidecarService");
  const answer = await say(grpcurl, ...ca, ...as("known"), "-d", '{"lines": 1}', address, PEEK);
  expect(JSON.parse(answer)).toMatchObject({ output: "line\n" });
  const failure = await say(grpcurl, ...ca, ...as("known"), "-d", `{"lines": ${ASK.notFound}}`, address, PEEK);
  expect(failure).toContain("Code: NotFound");
  expect(await say(grpcurl, ...ca, ...as("revoked"), address, "list")).toMatch(/Unauthenticated|is revoked/);
  expect(await say(grpcurl, ...ca, "-max-time", "5", address, "list")).toMatch(/Failed|deadline|required/i);
});

it("ghz gets an answer to each of 500 calls over 5 connections", async (context) => {
  const ghz = await requireComponent(context, "ghz");
  const tls = [
    "--cacert",
    file("known", "ca.crt"),
    "--cert",
    file("known", "tls.crt"),
    "--key",
    file("known", "tls.key"),
  ];
  const load = ["--total", "500", "--concurrency", "10", "--connections", "5", "--format", "json"];
  const report = JSON.parse(await say(ghz, ...tls, ...load, "--call", PEEK, "--data", '{"lines": 1}', address));
  expect(report).toMatchObject({ count: 500, statusCodeDistribution: { OK: 500 } });
});
