import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bridgeCa } from "../../cmd/bridge-ca/program.ts";
import { systemFileOps } from "../../internal/files/file-ops.ts";
import { CaSandbox, commandsIn, PASSPHRASE } from "../support/bridge/bridge-ca.ts";

const BRIDGE = "ai-agent-bridge";
const CONSUMER = "prd-manager-control-plane";

let sandbox: CaSandbox;

beforeAll(async () => {
  sandbox = await CaSandbox.create();
  await writeFile(sandbox.path(".bridge-ca-passphrase"), `${PASSPHRASE}\n`, { mode: 0o600 });
  await mkdir(sandbox.path("as-told", BRIDGE), { recursive: true });
  await mkdir(sandbox.path("as-told", CONSUMER));
  const overview = await sandbox.ok("bridge-ca --help");
  const commands = commandsIn(overview.slice(overview.indexOf("The steps for")));
  expect(commands.length).toBeGreaterThan(10);
  await sandbox.ok(commands.join("\n"), "as-told");
});

afterAll(() => sandbox[Symbol.asyncDispose]());

describe("a bridge and a consumer that follow bridge-ca --help", () => {
  it.each([
    ["the consumer's client", `${CONSUMER}/certs/client.crt`, BRIDGE, "sslclient"],
    ["the bridge's server", `${BRIDGE}/certs/bridge.crt`, CONSUMER, "sslserver"],
    ["the bridge's server", `${BRIDGE}/certs/bridge.crt`, BRIDGE, "sslserver"],
  ])("trust %s (%s at %s) according to openssl and bridge-ca verify", async (_, cert, at, purpose) => {
    const bundle = `${at}/certs/ca-bundle.crt`;
    const openssl = `openssl verify -x509_strict -purpose ${purpose} -CAfile ${bundle} ${cert}`;
    expect(await sandbox.ok(openssl, "as-told")).toContain("OK");
    expect(await sandbox.ok(`bridge-ca verify --cert ${cert} --bundle ${bundle}`, "as-told")).toContain("good");
  });

  it.each([
    ["the bridge's server certificate as a client", `${BRIDGE}/certs/bridge.crt`, BRIDGE, "client"],
    ["the consumer's client certificate as a server", `${CONSUMER}/certs/client.crt`, BRIDGE, "server"],
  ])("do not trust %s", async (_, cert, at, usage) => {
    const bundle = `${at}/certs/ca-bundle.crt`;
    const { code, stderr } = await sandbox.sh(`bridge-ca verify --cert ${cert} --bundle ${bundle} --usage ${usage}`, {
      folder: "as-told",
    });
    expect([code, stderr]).toEqual([4, expect.stringContaining(`is not for ${usage}s`)]);
    const openssl = `openssl verify -purpose ssl${usage} -CAfile ${bundle} ${cert}`;
    expect((await sandbox.sh(openssl, { folder: "as-told" })).code).not.toBe(0);
  });
});

const commands = Object.keys(bridgeCa(systemFileOps).commands ?? {});
it.each(commands)("the examples of bridge-ca %s --help run unchanged", async (name) => {
  const help = await sandbox.ok(`bridge-ca ${name} --help`);
  await cp(sandbox.path("as-told"), sandbox.path(name), { recursive: true });
  const commands = commandsIn(help.slice(help.indexOf("\nExample")));
  expect(commands.length).toBeGreaterThan(0);
  for (const command of commands) {
    const folder = command.includes("../ai-agent-bridge/") ? CONSUMER : BRIDGE;
    if (name !== "revoke" && name !== "crl") await removeOutputs(command, `${name}/${folder}`);
    if (name === "revoke")
      await sandbox.sh("bridge-ca issue --type client --cn prd-manager --out certs/prd-manager-client", {
        folder: `${name}/${folder}`,
      });
    await sandbox.ok(command, `${name}/${folder}`);
  }
});

/** Removes the files that the flows made and that the same example would refuse to replace. */
async function removeOutputs(command: string, folder: string): Promise<void> {
  const [, out] = /--out (\S+)/.exec(command) ?? [];
  if (out === undefined) return;
  for (const suffix of ["", ".crt", ".key", ".pub"]) {
    await rm(sandbox.path(folder, `${out}${suffix}`), { recursive: true, force: true });
  }
}

it("the commands of docs/trust.md run unchanged, in order", async () => {
  const page = await readFile(new URL("../../docs/trust.md", import.meta.url), "utf8");
  const commands = commandsIn(page);
  expect(commands.length).toBeGreaterThan(30);
  await mkdir(sandbox.path("docs", BRIDGE), { recursive: true });
  await mkdir(sandbox.path("docs", CONSUMER));
  await sandbox.ok(commands.join("\n"), "docs");
  const verify = `bridge-ca verify --cert ${CONSUMER}/certs/client.crt --bundle ${BRIDGE}/certs/ca-bundle.crt`;
  expect((await sandbox.sh(verify, { folder: "docs" })).stderr).toContain(
    "was signed by a CA that is not in the bundle",
  );
});
