import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { gt } from "../support/bridge/gt-transcript.ts";
import { programFile } from "../support/programs.ts";
import { runToEnd } from "../support/run-to-end.ts";

let dir = "";
const at = (name: string) => join(dir, name);
const openssl = (...args: string[]) => execa("openssl", args, { cwd: dir });

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "gt-own-files-"));
  for (const name of ["good", "other"]) {
    await openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", `${name}.key`);
    const leaf = ["-days", "2", "-subj", `/CN=${name}`, "-addext", "extendedKeyUsage=serverAuth,clientAuth"];
    await openssl("req", "-x509", "-key", `${name}.key`, ...leaf, "-out", `${name}.crt`);
  }
  await openssl("pkey", "-in", "good.key", "-aes256", "-passout", "pass:secret", "-out", "encrypted.key");
  await openssl("pkey", "-in", "good.key", "-outform", "DER", "-out", "der.key");
  await openssl("x509", "-in", "good.crt", "-outform", "DER", "-out", "der.crt");
  await openssl("pkey", "-in", "good.key", "-pubout", "-out", "public.key");
  await openssl("pkcs12", "-export", "-inkey", "good.key", "-in", "good.crt", "-passout", "pass:", "-out", "both.p12");
  await writeFile(at("empty"), "");
  await writeFile(at("text"), "hello\n");
});
afterAll(() => rm(dir, { recursive: true, force: true }));

interface Given {
  readonly cert?: string;
  readonly key?: string;
  readonly ca?: string;
}

const MISTAKES: readonly (readonly [what: string, given: Given, blamed: keyof Given, why: RegExp, hint?: RegExp])[] = [
  ["an encrypted key", { key: "encrypted.key" }, "key", /is encrypted with a passphrase/, /openssl pkey -in /],
  ["a key in DER", { key: "der.key" }, "key", /is in a binary form \(DER\)/, /openssl pkey -inform DER -in /],
  ["a key in PKCS #12", { key: "both.p12" }, "key", /is in a binary form \(DER\)/, /openssl pkcs12 -in /],
  ["an empty key", { key: "empty" }, "key", /is empty/],
  ["a public key", { key: "public.key" }, "key", /holds a public key/],
  ["another key", { key: "other.key" }, "key", /is not the key of /],
  ["key and certificate swapped", { cert: "good.key", key: "good.crt" }, "cert", /holds a private key/, /swapped/],
  ["an empty certificate", { cert: "empty" }, "cert", /is empty/],
  ["a certificate in DER", { cert: "der.crt" }, "cert", /is in a binary form \(DER\)/, /openssl x509 -inform DER/],
  ["an empty CA", { ca: "empty" }, "ca", /is empty/],
  ["a CA that is a key", { ca: "good.key" }, "ca", /holds a private key/],
  ["a CA that is any text", { ca: "text" }, "ca", /holds no certificate in PEM/],
];

describe.concurrent("an unusable file of the user", () => {
  it.for(MISTAKES)("is named with its fault and the remedy: %s", async ([, given, blamed, why, hint]) => {
    const { cert = "good.crt", key = "good.key", ca = "good.crt" } = given;
    const files = { cert, key, ca };
    const env = { PATH: process.env["PATH"] ?? "", HOME: dir };
    const flags = Object.entries(files).flatMap(([name, file]) => [`--${name}`, at(file)]);
    const shown = await gt(["peek", "toast", "--host", "127.0.0.1", "--port", "9", ...flags], env);
    expect(shown).toMatchObject({ code: 2, stdout: "" });
    expect(shown.stderr).toMatch(/^gt: error: /);
    expect(shown.stderr).toContain(at(files[blamed]));
    expect(shown.stderr).toMatch(why);
    if (hint !== undefined) expect(shown.stderr).toMatch(hint);

    const folder = at(`tls-${MISTAKES.findIndex(([, other]) => other === given)}`);
    await mkdir(folder, { mode: 0o700 });
    const names = { cert: "tls.crt", key: "tls.key", ca: "ca.crt" };
    for (const name of ["cert", "key", "ca"] as const) await copyFile(at(files[name]), join(folder, names[name]));
    const sidecar = [programFile("gt-sidecar"), "--agent", "generic", "--tls-dir", folder, "--listen", "127.0.0.1:0"];
    const refused = await runToEnd(process.execPath, [...sidecar, "--", "cat"], { env });
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(why) });
    expect(refused).toMatchObject({ stderr: expect.stringContaining(names[blamed]) });
    if (hint !== undefined) expect(refused).toMatchObject({ stderr: expect.stringMatching(hint) });
  });
});
