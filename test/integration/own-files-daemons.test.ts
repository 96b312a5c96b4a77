// Tests how the daemons and the SDK report files that a person made with openssl in the wrong form.
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BridgeError, createClient } from "../../pkg/bridgeclient/index.ts";
import { programFile } from "../support/programs.ts";
import { runToEnd } from "../support/run-to-end.ts";

let dir = "";
const at = (name: string) => join(dir, name);
const openssl = (...args: string[]) => execa("openssl", args, { cwd: dir });

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "gt-own-files-"));
  const ext = ["-addext", "extendedKeyUsage=serverAuth,clientAuth"];
  for (const name of ["good", "other"]) {
    await openssl("genpkey", "-algorithm", "ed25519", "-out", `${name}.key`);
    await openssl("req", "-x509", "-key", `${name}.key`, "-days", "2", "-subj", "/CN=x", ...ext, "-out", `${name}.crt`);
  }
  await openssl("pkey", "-in", "good.key", "-pubout", "-out", "good.pub");
  await openssl("pkey", "-in", "good.key", "-pubout", "-outform", "DER", "-out", "der.pub");
  await openssl("pkey", "-in", "good.key", "-aes256", "-passout", "pass:secret", "-out", "encrypted.key");
  await openssl("pkey", "-in", "good.key", "-outform", "DER", "-out", "der.key");
  await openssl("x509", "-in", "good.crt", "-outform", "DER", "-out", "der.crt");
  await writeFile(at("empty"), "");
  await writeFile(at("torn.pub"), "-----BEGIN PUBLIC KEY-----\nMCow\n");
});
afterAll(() => rm(dir, { recursive: true, force: true }));

async function outcomeOf(program: "bridge" | "gt-controller" | "relay", args: readonly string[]) {
  const env = { PATH: process.env["PATH"], HOME: dir };
  const { code, stdout, stderr } = await runToEnd(process.execPath, [programFile(program), ...args], { cwd: dir, env });
  return { code, stdout, stderr: stderr.replaceAll(`${dir}/`, "") };
}

const TOKEN_KEYS: readonly (readonly [file: string, why: string])[] = [
  ["empty", "empty is empty"],
  ["der.pub", "der.pub is in a binary form (DER), not in PEM; convert it: openssl pkey -pubin -inform DER -in der.pub"],
  ["good.key", "good.key contains a private key: only its issuer may have it; give the public one: openssl pkey -in"],
  ["encrypted.key", "encrypted.key contains a private key: only its issuer may have it; give the public one: openssl"],
  ["good.crt", "good.crt holds a certificate, not a public key; extract the key: openssl x509 -in good.crt"],
  ["torn.pub", "torn.pub has no readable public key (PEM): line 1 begins a PUBLIC KEY that has no end"],
];
const CAS: readonly (readonly [file: string, why: string])[] = [
  ["empty", "empty is empty"],
  ["der.crt", "der.crt is in a binary form (DER), not in PEM; convert it: openssl x509 -inform DER -in der.crt"],
  ["good.key", "good.key holds a private key, not a certificate; are the certificate and the key swapped?"],
];
const SIGNING_KEYS: readonly (readonly [file: string, why: string])[] = [
  ["encrypted.key", "encrypted.key is encrypted with a passphrase; remove the passphrase: (umask 077; openssl pkey"],
  ["der.key", "der.key is in a binary form (DER), not in PEM; convert it: openssl pkey -inform DER -in der.key"],
  ["good.pub", "good.pub holds a public key, not a private key"],
  ["good.crt", "good.crt holds a certificate, not a private key; are the certificate and the key swapped?"],
];

const CONTROLLER = (auth: readonly string[], tokens?: string) => `trust_domain: town.example
ca: { namespace: gastown-ca, secret: gastown-ca }
namespaces: [{ name: agents, project: shop }]
auth:
  jwt_public_keys:
${auth.map((one) => `    - { issuer: shop, ${one} }`).join("\n")}
${tokens === undefined ? "" : `session_tokens: { key_path: ${tokens} }`}
`;

describe.each([["check"], []])("gt-controller %s", (...command) => {
  it("reports each unusable token key and CA by name, with the fault and the remedy", async () => {
    const keys = TOKEN_KEYS.map(([file]) => `key_path: ${file}`);
    const cas = CAS.map(([file]) => `key_path: good.pub, ca: ${file}`);
    await writeFile(at("controller.yaml"), CONTROLLER([...keys, ...cas]));
    const shown = await outcomeOf("gt-controller", [...command, "--config", at("controller.yaml")]);
    expect(shown).toMatchObject({ code: 2, stdout: "" });
    const lines = shown.stderr.split("\n");
    for (const [i, [, why]] of [...TOKEN_KEYS, ...CAS].entries()) {
      const key = i < TOKEN_KEYS.length ? "key_path" : "ca";
      const place = `controller.yaml:${i + 6}: auth.jwt_public_keys[${i}].${key}: `;
      expect(lines.find((line) => line.startsWith(place))).toContain(`: ${why}`);
    }
    expect(shown.stderr).not.toContain("bug");
  });
});

it.each(SIGNING_KEYS)("gt-controller refuses %s as the key of agents' tokens, and names it", async (file, why) => {
  await writeFile(at(`${file}.yaml`), CONTROLLER(["key_path: good.pub"], file));
  const shown = await outcomeOf("gt-controller", ["check", "--config", at(`${file}.yaml`)]);
  expect(shown).toMatchObject({ code: 2, stdout: "" });
  expect(shown.stderr).toContain(`session_tokens.key_path: ${why}`);
});

it.each([
  ["client-key: encrypted.key", "encrypted.key is encrypted with a passphrase"],
  ["client-key: der.key", "der.key is in a binary form (DER), not in PEM"],
  ["client-key: other.key", "other.key is not the key of good.crt"],
  ["client-key: good.crt", "good.crt holds a certificate, not a private key"],
  ["client-key: empty", "empty is empty"],
])("gt-controller names the faulty file of a kubeconfig with %s", async (key, why) => {
  const name = key.replace(/\W+/g, "-");
  await writeFile(at(`${name}.yaml`), CONTROLLER(["key_path: good.pub"]));
  const cluster = "{ server: 'https://127.0.0.1:9', certificate-authority: good.crt }";
  const config = `clusters: [{ name: c, cluster: ${cluster} }]
users: [{ name: u, user: { client-certificate: good.crt, ${key} } }]
contexts: [{ name: x, context: { cluster: c, user: u } }]
current-context: x
`;
  await writeFile(at(`${name}.kubeconfig`), config);
  const place = ["--config", at(`${name}.yaml`), "--kubeconfig", at(`${name}.kubeconfig`)];
  const shown = await outcomeOf("gt-controller", place);
  expect(shown).toMatchObject({ code: 2 });
  expect(shown.stderr).toContain(why);
  expect(shown.stderr).not.toContain("bug");
});

it("bridge check reports its own and its issuers' files in the same way", async () => {
  const text = (tls: string, key: string) => `tls: { ${tls} }
auth: { jwt_public_keys: [{ issuer: shop, key_path: ${key} }] }
providers: { demo: {} }
allowed_paths: [/srv]
`;
  await writeFile(at("bridge.yaml"), text("ca_bundle: good.crt, cert: good.crt, key: encrypted.key", "der.pub"));
  const shown = await outcomeOf("bridge", ["check", "--config", at("bridge.yaml")]);
  expect(shown.code).toBe(2);
  expect(shown.stderr).toContain("encrypted.key is encrypted with a passphrase");
  expect(shown.stderr).toContain("(umask 077; openssl pkey -in encrypted.key -out NEW.key)");
  expect(shown.stderr).toContain("der.pub is in a binary form (DER), not in PEM; convert it: openssl pkey -pubin");
});

it.each([
  ["ca.crt", "empty", "ca.crt is empty"],
  ["ca.crt", "der.crt", "ca.crt is in a binary form (DER), not in PEM"],
  ["tls.crt", "good.key", "tls.crt holds a private key, not a certificate"],
  ["tls.key", "encrypted.key", "tls.key is encrypted with a passphrase"],
  ["tls.key", "other.key", "tls.key is not the key of"],
])("relay reports a %s for NATS that is %s before it calls the server", async (name, file, why) => {
  const folder = `nats-${name}-${file}`;
  await mkdir(at(folder));
  const files = { "tls.crt": "good.crt", "tls.key": "good.key", "ca.crt": "good.crt", [name]: file };
  for (const [to, from] of Object.entries(files)) await copyFile(at(from), at(`${folder}/${to}`));
  const args = ["status", "--nats-url", "tls://127.0.0.1:1", "--nats-tls-dir", folder];
  const { code, stderr } = await outcomeOf("relay", args);
  expect(stderr).toContain(`relay: error: ${folder}/${why}`);
  expect(code).toBe(2);
});

describe("the SDK", () => {
  const failure = (mtls: Readonly<Record<string, string>>, key = "good.key"): unknown => {
    const named = Object.fromEntries(Object.entries(mtls).map(([name, file]) => [name, at(file)]));
    const files = { caCertPath: at("good.crt"), certPath: at("good.crt"), keyPath: at("good.key"), ...named };
    const jwt = { privateKeyPath: at(key), issuer: "shop", projectId: "shop" };
    try {
      return createClient({ target: "127.0.0.1:9", mtls: files, jwt });
    } catch (err) {
      return err;
    }
  };
  const withoutFolder = (err: unknown) => (err instanceof Error ? err.message.replaceAll(`${dir}/`, "") : "");

  it.each([
    ...SIGNING_KEYS.map(([file, why]) => ["keyPath", file, why] as const),
    ...CAS.map(([file, why]) => ["caCertPath", file, why] as const),
    ...CAS.map(([file, why]) => ["certPath", file, why] as const),
    ["keyPath", "empty", "empty is empty"],
    ["keyPath", "other.key", "other.key is not the key of good.crt"],
    ["crlPath", "empty", "empty is empty"],
    ["crlPath", "good.crt", "good.crt holds a certificate, not a revocation list"],
  ] as const)("refuses an invalid %s, %s, and names the file, the reason and the remedy", (name, file, why) => {
    const err = failure({ [name]: file });
    expect(err).toBeInstanceOf(BridgeError);
    expect(err).toMatchObject({ code: "invalid_argument", reason: "invalid", fromServer: false });
    expect(withoutFolder(err)).toContain(why);
  });

  it.each(SIGNING_KEYS)("refuses %s as the key of its tokens", (file, why) => {
    const err = failure({}, file);
    expect(err).toMatchObject({ code: "invalid_argument" });
    expect(withoutFolder(err)).toContain(why);
  });
});
