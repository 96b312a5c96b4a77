import { existsSync, readFileSync } from "node:fs";
import { chmod, symlink, writeFile } from "node:fs/promises";
import { connect } from "node:http2";
import { createServer } from "node:net";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Health } from "../../internal/gen/grpc/health/v1/health_pb.ts";
import { processLives } from "../../internal/process/process-lives.ts";
import { BridgeFolder, type Sections } from "../support/bridge/bridge-folder.ts";
import { TestCa } from "../support/bridge/certificates.ts";
import { until } from "../support/sidecar/sidecar.ts";

let folder: BridgeFolder;
beforeAll(async () => {
  folder = await BridgeFolder.create();
});
afterAll(() => folder[Symbol.asyncDispose]());

/** The example configuration of the bridge's requirements, with a free port. */
const REQUIREMENT = readFileSync(join(import.meta.dirname, "../testdata/bridge/requirement.yaml"), "utf8").replace(
  "0.0.0.0:9445",
  "127.0.0.1:0",
);

async function ran(...args: string[]) {
  const bridge = folder.spawn(args);
  return { code: await bridge.exited, text: bridge.log() };
}

async function checked(sections: Sections) {
  return ran("check", "--config", await folder.configure(sections, "checked.yaml"));
}

describe("bridge check", () => {
  it("accepts the example of the requirements, and warns of an omitted argument", async () => {
    await writeFile(folder.path("requirement.yaml"), REQUIREMENT);
    const { code, text } = await ran("check", "--config", folder.path("requirement.yaml"));
    expect(text).toContain("requirement.yaml:32: warning: providers.codex.args: --quiet");
    expect(text).toContain("requirement.yaml: ok");
    const lines = Array.from(text.matchAll(/requirement\.yaml:(\d+):/g), ([, line]) => Number(line));
    expect(lines.length).toBeGreaterThan(2);
    expect(lines).toEqual(lines.toSorted((a, b) => a - b));
    expect(code).toBe(0);
  });

  it("reports every fault of the file with its line, and exits with 2", async () => {
    await writeFile(folder.path("wrong.yaml"), REQUIREMENT.replace("listen:", "lisen:").replace('"10s"', "ten"));
    const { code, text } = await ran("check", "-c", folder.path("wrong.yaml"));
    expect(text).toContain("wrong.yaml:3: server.lisen: is not known here; did you mean listen?");
    expect(text).toContain("wrong.yaml:23: sessions.stop_grace_period: must be a duration");
    expect(code).toBe(2);
  });

  it.each<[string, () => Sections | Promise<Sections>, string]>([
    ["a certificate that is not there", () => ({ tls: { cert: "certs/none.crt" } }), "tls.cert: cannot read"],
    ["another certificate's key", () => ({ tls: { key: "other.key" } }), "other.key is not the key of"],
    ["a certificate that has expired", () => ({ tls: { cert: "old.crt", key: "old.key" } }), "tls.cert: "],
    ["a bundle that is empty", () => ({ tls: { ca_bundle: "empty" } }), "tls.ca_bundle: "],
    ["a revocation list of an untrusted CA", () => ({ tls: { crl: "foreign.pem" } }), "contains a list that no CA in"],
    [
      "a token key that is private",
      () => ({ auth: { jwt_public_keys: [{ issuer: "a", key_path: "other.key" }] } }),
      "contains a private key",
    ],
    [
      "a token key that is not there",
      () => ({ auth: { jwt_public_keys: [{ issuer: "a", key_path: "none" }] } }),
      "there is no such file",
    ],
    [
      "an audit log in a folder that is not there",
      () => ({ audit: { path: "none/audit.log" } }),
      "audit.path: cannot write to",
    ],
    ["an audit log that is a folder", () => ({ audit: { path: "certs" } }), "is a folder"],
    ["an audit log that is a link", () => ({ audit: { path: "linked.log" } }), "is a link"],
    [
      "two listeners at one port",
      () => ({ server: { listen: "0.0.0.0:9999", health_listen: "127.0.0.1:9999" } }),
      "server.health_listen: port 9999 is used by server.listen too",
    ],
  ])("reports %s", async (_, sections, words) => {
    const [other, old] = [folder.ca.issue({ ips: ["127.0.0.1"] }), folder.ca.issue({ ips: ["127.0.0.1"], days: -0.5 })];
    await writeFile(folder.path("other.key"), other.key, { mode: 0o600 });
    await writeFile(folder.path("old.crt"), old.cert);
    await writeFile(folder.path("old.key"), old.key, { mode: 0o600 });
    await writeFile(folder.path("empty"), "");
    await writeFile(folder.path("foreign.pem"), new TestCa("stranger").revoke([]));
    if (!existsSync(folder.path("linked.log"))) await symlink(folder.path("empty"), folder.path("linked.log"));
    const { code, text } = await checked(await sections());
    expect(text).toMatch(/checked.yaml:\d+: /);
    expect(text).toContain(words);
    expect(code).toBe(2);
  });
});

it("check warns of loose access: a file that others may write, every folder, a foreign root, a shared key", async () => {
  const bundle = readFileSync(folder.path("certs/ca-bundle.crt"), "utf8");
  await writeFile(folder.path("roots.crt"), bundle + new TestCa("stranger").pem);
  const keys = ["prd-manager", "ndara-orchestrator"].map((issuer) => ({ issuer, key_path: "certs/ndara-jwt.pub" }));
  const sections = { tls: { ca_bundle: "roots.crt" }, auth: { jwt_public_keys: keys }, allowed_paths: ["/"] };
  const path = await folder.configure(sections, "open.yaml");
  await chmod(path, 0o666);
  const { code, text } = await ran("check", "--config", path);
  for (const words of [
    ...["others may write this file", "allows every folder", '"CN=stranger", which is self-signed'],
    'is the key of "prd-manager" too',
  ])
    expect(text).toContain(words);
  expect(code).toBe(0);
});

it("check warns of an unusable provider with its line, and of nothing else", async () => {
  const { code, text } = await checked({ providers: { claude: { binary: "/nowhere/claude" } } });
  expect(text).toMatch(/checked.yaml:\d+: warning: providers.claude: cannot be used now: .*nowhere/);
  expect(code).toBe(0);
});

it("check and the log of a start quote an unusable program's output without secrets", async () => {
  const binary = folder.path("unlicensed");
  await writeFile(binary, "#!/bin/sh\necho 'no licence:\nCORP-77 api_key=1234' >&2; exit 3\n", { mode: 0o755 });
  const sections = { providers: { claude: { binary } }, logging: { redact_patterns: ["CORP-[0-9]+"] } };
  const said = "unlicensed --version ended with 3: no licence: [redacted] [redacted]";
  expect((await checked(sections)).text).toContain(
    `warning: providers.claude: cannot be used now: ${folder.dir}/${said}`,
  );
  await using bridge = await folder.start(sections);
  const logged = () => bridge.log().includes(said) || undefined;
  await until("the warning", 30_000, logged, bridge.log);
  expect(bridge.log()).toMatch(/"level":40.*"provider":"claude".*"msg":"a provider cannot be used now"/);
});

it.each(["SIGTERM", "SIGKILL"] as const)(
  "%s leaves no provider's program behind that hangs at --version",
  async (signal) => {
    const [binary, pidFile] = [folder.path("hanging"), folder.path(`hanging-${signal}`)];
    await writeFile(binary, `#!/bin/sh\nsleep 1; echo $$ > ${pidFile}\nexec sleep 7777\n`, { mode: 0o755 });
    await using bridge = await folder.start({ providers: { claude: { binary } } });
    const pidOf = () => (existsSync(pidFile) ? Number(readFileSync(pidFile, "utf8")) || undefined : undefined);
    const pid = await until("the program", 30_000, pidOf, bridge.log);
    bridge.process.kill(signal);
    await bridge.exited;
    await until("its end", 30_000, () => !processLives(pid) || undefined, bridge.log);
  },
);

it("serves without its default health port when another process has it, and warns", async () => {
  const holder = createServer().listen(9446, "127.0.0.1");
  await new Promise((resolve) => holder.once("listening", resolve).once("error", resolve)); // someone else's will do
  const config = await folder.configure({ server: { health_listen: undefined } }, "usual-health.yaml");
  const bridge = folder.spawn(["--config", config]);
  const said = (text: string) => () => bridge.log().includes(text) || undefined;
  await until("the bridge to serve", 30_000, said('"msg":"serving"'), bridge.log);
  await until("the warning", 30_000, said("no health port"), bridge.log);
  bridge.process.kill("SIGTERM");
  expect(await bridge.exited).toBe(0);
  await new Promise((resolve) => holder.close(resolve));
});

describe("a start is refused", () => {
  it("with 2 and each fault for an invalid configuration", async () => {
    const { code, text } = await ran(
      "--config",
      await folder.configure({ tls: { verify: false }, input: { max_size_bytes: 0 } }, "no.yaml"),
    );
    expect(text).toContain("tls.verify: is not known here");
    expect(text).toContain("input.max_size_bytes: must be");
    expect(code).toBe(2);
  });

  it("with 2 without a configuration, and with a missing one", async () => {
    expect((await ran()).code).toBe(2);
    expect(await ran("--config", "/nowhere/bridge.yaml")).toMatchObject({
      code: 2,
      text: expect.stringContaining("cannot read /nowhere/bridge.yaml"),
    });
  });

  it("with 1 when another bridge has the state folder or the port", async () => {
    await using first = await folder.start();
    const again = await ran("--config", folder.path("bridge.yaml"));
    expect(again).toMatchObject({
      code: 1,
      text: expect.stringContaining("another bridge is using the state folder"),
    });
    const taken = { server: { listen: `127.0.0.1:${first.port}`, state_dir: "state-2" } };
    const { code, text } = await ran("--config", await folder.configure(taken, "taken.yaml"));
    expect(text).toContain(`cannot listen on 127.0.0.1:${first.port}`);
    expect(code).toBe(1);
  });
});

it("exits with 0 on SIGTERM, and the next start succeeds", async () => {
  for (let i = 0; i < 2; i++) {
    const bridge = await folder.start();
    bridge.process.kill("SIGTERM");
    expect(await bridge.exited).toBe(0);
  }
});

it("sends GOAWAY on connections older than server.max_connection_age, and calls continue over new ones", async () => {
  await using bridge = await folder.start({ server: { max_connection_age: "1s" } });
  const { cert, key } = folder.prd.tls;
  const session = connect(bridge.url, { ca: folder.ca.pem, cert, key });
  const goaway = new Promise<number>((resolve, reject) => session.once("goaway", resolve).once("error", reject));
  expect(await goaway).toBe(0);
  session.destroy();
  const client = createClient(Health, folder.transport(bridge, folder.prd));
  for (const end = performance.now() + 2500; performance.now() < end; ) expect((await client.check({})).status).toBe(1);
});

it.each([
  ["--help", "bridge check --config FILE"],
  ["--version", "bridge "],
])("answers %s", async (flag, words) => {
  expect(await ran(flag)).toMatchObject({ code: 0, text: expect.stringContaining(words) });
});
