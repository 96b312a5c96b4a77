import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TestCa } from "../support/bridge/certificates.ts";
import { writeTls } from "../support/bridge/secret.ts";
import { NatsServer, oldestNats } from "../support/relay/nats-server.ts";
import { RelayProcess, runRelay } from "../support/relay/relay-process.ts";
import { refusalStatus, SeedAgent } from "../support/relay/seed-agent.ts";

let folder: string;
const ca = new TestCa("town");
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gt-relay-trust-"));
  await writeTls(join(folder, "tls"), ca.issue({ ips: ["127.0.0.1"] }));
  await writeTls(join(folder, "client"), ca.issue({ uris: ["spiffe://town.example/client/a"] }));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function file(name: string, value: object | string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, typeof value === "string" ? value : JSON.stringify(value));
  return path;
}

const check = (path: string, ...more: string[]) => runRelay(["check", "--config", path, ...more]);

describe.concurrent("the relay does not start, and exits with 2, for", () => {
  it.each([["0.0.0.0:0"], ["[::]:0"], ["192.0.2.1:0"]])("--listen %s in plaintext", async (listen) => {
    for (const command of ["serve", "check"]) {
      const { code, stderr } = await runRelay([command, "--listen", listen]);
      expect([code, stderr]).toEqual([2, expect.stringMatching(/cannot serve \S+ in plaintext/)]);
      expect(stderr).toContain("give --tls-dir, or --insecure-plaintext");
    }
  });

  it("invalid configuration keys, reported by line", async () => {
    const path = await file(
      "wrong.yaml",
      `auth:
  jwt_public_keys:
    - { issuer: town, key_path: none.pub, sessions: ["a b"] }
    - { issuer: town, key_path: none.pub, session: [x] }
tls:
  crl_policy: sometimes
audit: { file: x }
`,
    );
    const { code, stderr } = await check(path);
    expect(code).toBe(2);
    expect(stderr).toMatch(/wrong\.yaml:3: auth\.jwt_public_keys\[?\.?0.*sessions.*must be the name of a session/);
    expect(stderr).toMatch(/wrong\.yaml:4: auth\.jwt_public_keys.*session: is not known here; did you mean sessions\?/);
    expect(stderr).toMatch(/wrong\.yaml:6: tls\.crl_policy/);
    expect(stderr).toMatch(/wrong\.yaml:7: audit\.file: is not known here/);
  });

  it("tokens or revocation lists without certificates, and unusable files", async () => {
    const keys = { jwt_public_keys: [{ issuer: "town", key_path: "none.pub" }] };
    const bare = await check(await file("bare.yaml", { auth: keys, tls: { crl_policy: "require" } }));
    expect(bare.code).toBe(2);
    expect(bare.stderr).toContain("auth: needs tls.dir or --tls-dir");
    expect(bare.stderr).toContain("tls.crl_policy: needs tls.dir or --tls-dir");
    expect(bare.stderr).toContain("none.pub");
    const unusable = await file("unusable.yaml", { tls: { dir: "nowhere" }, audit: { path: "." } });
    for (const command of ["check", "serve"]) {
      const { code, stderr } = await runRelay([command, "--config", unusable]);
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining(`tls.dir: cannot serve with ${join(folder, "nowhere")}`),
      ]);
      expect(stderr).toContain("audit.path: cannot write to the audit log");
    }
  });
});

it("check warns if a certificate alone lets its holder act as any agent", async () => {
  const { code, stdout, stderr } = await check(await file("certificates.yaml", { tls: { dir: "tls" } }));
  expect([code, stdout]).toEqual([0, expect.stringContaining("certificates.yaml: ok")]);
  expect(stderr).toContain("whoever has a certificate of ca.crt can be any agent of any session");
});

it("the relay serves any address with certificates and writes its audit log; in plaintext it answers other hosts with 403", async () => {
  await using nats = await NatsServer.start(await oldestNats());
  const audit = join(folder, "audit.log");
  const config = await file("audit.yaml", { audit: { path: "audit.log" } });
  const dirs = ["--tls-dir", join(folder, "tls"), "--listen", "0.0.0.0:0"];
  await using relay = await RelayProcess.start(nats.url, { args: ["--config", config, ...dirs] });
  const { port } = new URL(await relay.url());
  const tls = ca.issue({ uris: ["spiffe://town.example/client/a"] });
  using agent = await SeedAgent.dial(`wss://127.0.0.1:${port}`, { session: "s", tls });
  expect(agent.closed).toBeUndefined();
  await using plain = await RelayProcess.start(nats.url, { args: ["--config", config] });
  const url = `${await plain.url()}/acp/p/coding?agent_id=a`;
  expect(await refusalStatus(url, { headers: { Host: "evil.example" } })).toBe(403);
  const lines = (await readFile(audit, "utf8")).trim().split("\n");
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { event: "call", outcome: "allowed", identity: "spiffe://town.example/client/a" },
    { event: "policy", outcome: "allowed", session: "s", agent: "agent_abc", agent_role: "coding" },
    { event: "call", outcome: "refused", reason: 'host "evil.example" is not allowed (see --allow-host)' },
  ]);
});
