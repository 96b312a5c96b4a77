import { createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock as clock } from "../../internal/base/clock.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { runProgram } from "../../internal/cli/command/run-program.ts";
import { type FileOps, systemFileOps } from "../../internal/files/file-ops.ts";
import { revocationListsOf } from "../../internal/pki/revocation-list.ts";
import { TestCa } from "../../test/support/bridge/certificates.ts";
import { bridgeCa } from "./program.ts";

const dir = mkdtempSync(join(tmpdir(), "gt-written-files-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const [own, theirs] = [new TestCa("own"), new TestCa("theirs")];
let crossSigned: string | undefined;
beforeAll(async () => {
  const folder = fresh();
  await run(folder, CROSS_SIGN);
  crossSigned = readFileSync(join(folder, "new.crt"), "utf8");
});

/** A folder with a CA, another CA's certificate and a cross-signed one. */
function fresh(): string {
  const folder = mkdtempSync(join(dir, "case-"));
  const files = {
    "ca.crt": own.itself.cert,
    "ca.key": own.itself.key,
    "theirs.crt": theirs.pem,
    "x.crt": crossSigned ?? "",
    "leaf.crt": own.issue({ dns: ["b.example"], usages: ["server"] }).cert,
    "leaf.key": generateKeyPairSync("ec", { namedCurve: "P-384", privateKeyEncoding: PEM, publicKeyEncoding: SPKI })
      .privateKey,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 });
  return folder;
}
const PEM = { type: "pkcs8", format: "pem" } as const;
const SPKI = { type: "spki", format: "pem" } as const;

/** Runs the command line `words`, in which `@` stands for the folder. */
async function run(folder: string, words: string, ops: FileOps = systemFileOps): Promise<number> {
  const main = {
    argv: words.replaceAll("@", folder).split(" "),
    env: {},
    stdin: process.stdin,
    stdout: { write: () => true } as unknown as NodeJS.WriteStream,
    stderr: process.stderr,
    signal: new AbortController().signal,
    clock,
  };
  return await runProgram(bridgeCa(ops), main);
}

const SIGNER = "--ca @/ca.crt --ca-key @/ca.key";
const CROSS_SIGN = "cross-sign --signer-ca @/ca.crt --signer-key @/ca.key --target-ca @/theirs.crt --out @/new.crt";
const COMMANDS: readonly (readonly [name: string, words: string])[] = [
  ["issue into a folder", `issue --type sidecar --cn s1 --trust-domain own --out @/tls/ ${SIGNER}`],
  ["cross-sign", CROSS_SIGN],
  ["bundle", "bundle --ca @/ca.crt --cross-signed @/x.crt --out @/bundle.crt"],
  ["jwt-keygen", "jwt-keygen --out @/jwt"],
  ["crl", `crl --out @/list.pem ${SIGNER}`],
];

/** File operations on a disk that is full from change number `at` on; files can still be removed. */
function fullFrom(at: number): FileOps {
  let left = at;
  const unlessFull = <A extends readonly unknown[], R>(change: (...args: A) => R) => {
    return (...args: A): R => {
      if (left-- > 0) return change(...args);
      throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
    };
  };
  const { createFile, write, sync, link, rename } = systemFileOps;
  return {
    ...systemFileOps,
    createFile: unlessFull(createFile),
    write: unlessFull(write),
    sync: unlessFull(sync),
    link: unlessFull(link),
    rename: unlessFull(rename),
  };
}

/** Checks that every file that a command may have made is whole. */
function checkFiles(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    expect(name).not.toContain(".bridge-ca-");
    const text = name.includes(".") ? readFileSync(join(folder, name), "utf8") : "";
    if (name.endsWith(".crt")) expect(new X509Certificate(text).serialNumber).toMatch(/^[0-9A-F]+$/);
    if (name.endsWith(".key")) expect(createPrivateKey(text).type).toBe("private");
    if (name.endsWith(".pub")) expect(createPublicKey(text).type).toBe("public");
    if (name.endsWith(".pem")) expect(revocationListsOf(text).length).toBe(1);
    if (name.endsWith(".json")) expect(JSON.parse(text)).toMatchObject({ version: 1 });
  }
}

describe("a disk that is full from the nth write on", () => {
  it.each(COMMANDS)("%s reports it, leaves no partial file and succeeds when repeated", async (_, words) => {
    let failures = 0;
    for (let at = 0; ; at++) {
      const folder = fresh();
      const failed = await run(folder, words, fullFrom(at)).catch((err: unknown) => err);
      if (failed === 0) break;
      failures++;
      expect(failed).toBeInstanceOf(DomainError);
      expect(failed).toMatchObject({
        kind: "exhausted",
        message: expect.stringMatching(/^cannot write .*no space left on the device$/),
      });
      checkFiles(folder);
      const again = await run(folder, words).catch((err: unknown) => err);
      if (again !== 0) expect(again).toMatchObject({ kind: "already-exists" }); // all was in its place before the last change
      checkFiles(folder);
    }
    expect(failures).toBeGreaterThan(4);
  });
});

describe("a path that cannot be examined", () => {
  it.each([
    ["below a file", "@/ca.crt/below/a", "a part of the path is not a folder"],
    ["with a name that is too long", `@/${"a".repeat(300)}`, "the name is too long"],
    ["through a link to itself", "@/loop/a", "too many symbolic links"],
  ])("%s is reported in one sentence", async (_, place, words) => {
    const folder = fresh();
    symlinkSync("loop", join(folder, "loop"));
    for (const [, command] of COMMANDS) {
      const elsewhere = command.replace(/--out \S+/, `--out ${place}`);
      const kind = expect.stringMatching(/exhausted|already-exists/);
      const ran = run(folder, elsewhere);
      await expect(ran, elsewhere).rejects.toMatchObject({ kind, message: expect.stringContaining(words) });
    }
  });
});

describe("the CA's own files are not replaced", () => {
  it.each([
    ["issue", `issue --type client --cn a --trust-domain own --out @/ca --force ${SIGNER}`],
    ["issue, by another name", `issue --type client --cn a --trust-domain own --out @/same/ca --force ${SIGNER}`],
    ["cross-sign", `${CROSS_SIGN.replace("@/new.crt", "@/ca.key")} --force`],
    ["bundle", "bundle --ca @/ca.crt --out @/ca.key --force"],
    ["crl", `crl --out @/ca.crt --force ${SIGNER}`],
    ["renew, whose --key is not --ca-key", `renew --cert @/leaf.crt --key @/ca.key ${SIGNER}`],
  ])("by %s, even with --force", async (_, words) => {
    const folder = fresh();
    symlinkSync(folder, join(folder, "same"));
    await expect(run(folder, words)).rejects.toMatchObject({
      kind: "already-exists",
      message: expect.stringContaining("is one of the CA's own files"),
    });
    expect(readFileSync(join(folder, "ca.crt"), "utf8")).toBe(own.itself.cert);
    expect(readFileSync(join(folder, "ca.key"), "utf8")).toBe(own.itself.key);
  });
});
