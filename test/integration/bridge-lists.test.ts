// Revocation lists, bundles and token keys in several files and blocks: each is used, in the form that openssl writes.
import { spawnSync } from "node:child_process";
import { readFile, rename, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BridgeFolder, type RunningBridge } from "../support/bridge/bridge-folder.ts";
import { TestCa } from "../support/bridge/certificates.ts";
import { until } from "../support/sidecar/sidecar.ts";

let folder: BridgeFolder;
let bridge: RunningBridge;
/** The list that revokes the client of prd-manager. */
let revoking: string;

const TWO_FILES = { tls: { crl: ["certs/own.pem", "certs/prd.pem"] } };
const ONE_FILE = { tls: { crl: "certs/both.pem" } };

beforeAll(async () => {
  folder = await BridgeFolder.create();
  revoking = folder.prd.ca.revoke([folder.prd.tls], { number: 7 });
  await writeFile(folder.path("certs/own.pem"), folder.ca.revoke([], { number: 3 }));
  await writeFile(folder.path("certs/prd.pem"), revoking);
  bridge = await folder.start(TWO_FILES);
});
afterAll(() => folder[Symbol.asyncDispose]());

const openssl = (...args: readonly string[]) => spawnSync("openssl", ["crl", ...args], { input: revoking }).stdout;

const DAMAGED: readonly (readonly [string, () => string | Buffer])[] = [
  ["empty", () => ""],
  ["cut off in the middle", () => revoking.slice(0, revoking.length / 2)],
  ["cut off in its first line", () => revoking.slice(0, 12)],
  ["DER", () => openssl("-outform", "DER")],
  ["a text about the list", () => openssl("-text", "-noout")],
  ["a certificate", () => folder.prd.ca.pem],
];

async function health(by: BridgeFolder["prd"]): Promise<string> {
  const calling = folder.client(bridge, by).health({}, { timeoutMs: 20_000 });
  return calling.then(
    () => "served",
    (err: Error) => err.message,
  );
}

/** Replaces a file atomically, as an operator's renewal does. */
async function put(name: string, content: string | Buffer): Promise<void> {
  await writeFile(folder.path(`${name}.new`), content);
  await rename(folder.path(`${name}.new`), folder.path(name));
}

const refusals = () => bridge.log().split('"msg":"the certificate files were refused"').length - 1;

async function checked(sections: object, name: string) {
  const config = await folder.configure({ ...sections }, name);
  const [check, start] = [folder.spawn(["check", "--config", config]), folder.spawn(["--config", config])];
  return { codes: [await check.exited, await start.exited], text: check.log() };
}

describe("one of two revocation lists in separate files that is", () => {
  it.each(DAMAGED)(
    "%s is refused while running: callers that it revoked stay refused, and the log names it",
    async (_, damage) => {
      const before = refusals();
      await put("certs/prd.pem", damage());
      await until("the refusal", 60_000, () => refusals() > before || undefined, bridge.log);
      expect(
        bridge
          .log()
          .split("\n")
          .findLast((line) => line.includes("were refused")),
      ).toContain("certs/prd.pem");
      expect(await health(folder.prd)).toContain("revoked");
      expect(await health(folder.ndara)).toBe("served");
      await put("certs/prd.pem", revoking);
    },
  );

  it.each(DAMAGED)("%s is refused by check and at the start, with 2", async (name, damage) => {
    const file = `certs/damaged-${name.replaceAll(" ", "-")}.pem`;
    await writeFile(folder.path(file), damage());
    const { codes, text } = await checked(
      { tls: { crl: ["certs/own.pem", file] } },
      `${name.replaceAll(" ", "-")}.yaml`,
    );
    expect(text).toContain(`tls.crl: ${folder.path(file)} `);
    expect(codes).toEqual([2, 2]);
  });
});

describe("one of two revocation lists in the same file that is", () => {
  it.each(DAMAGED.slice(1, 5))("%s is refused by check and at the start, with 2", async (_, damage) => {
    const own = await readFile(folder.path("certs/own.pem"));
    await writeFile(folder.path("certs/both.pem"), Buffer.concat([own, Buffer.from(damage())]));
    const { codes, text } = await checked(ONE_FILE, "both.yaml");
    expect(text).toContain("both.pem cannot be used");
    expect(codes).toEqual([2, 2]);
  });
});

it("a bundle and a token key with a truncated second block are refused with 2", async () => {
  const bundle = await readFile(folder.path("certs/ca-bundle.crt"), "utf8");
  await writeFile(folder.path("certs/cut-bundle.crt"), bundle.slice(0, -60));
  const key = await readFile(folder.path("certs/prd-manager-jwt.pub"), "utf8");
  await writeFile(folder.path("certs/cut.pub"), key + key.slice(0, -30));
  const cut = await checked({ tls: { ca_bundle: "certs/cut-bundle.crt" } }, "cut-bundle.yaml");
  expect([cut.codes, cut.text]).toEqual([[2, 2], expect.stringContaining("tls.ca_bundle: ")]);
  const auth = { jwt_public_keys: [{ issuer: folder.prd.name, key_path: "certs/cut.pub" }] };
  const keys = await checked({ auth }, "cut-key.yaml");
  expect([keys.codes, keys.text]).toEqual([[2, 2], expect.stringContaining("has no end")]);
});

it("CAs that follow a block that openssl skips are trusted as check accepted them", async () => {
  const stranger = new TestCa("stranger").pem.replace(/(.*\n)(.*)/, "$1$2 "); // a blank that openssl passes over
  const bundle = await readFile(folder.path("certs/ca-bundle.crt"), "utf8");
  await put("certs/ca-bundle.crt", stranger + bundle.replaceAll("-----BEGIN", "  -----BEGIN"));
  await until("the bundle", 60_000, () => bridge.log().split("certificate in use").length > 2 || undefined, bridge.log);
  expect(await health(folder.ndara)).toBe("served");
  expect(await health(folder.prd)).toContain("revoked");
});
