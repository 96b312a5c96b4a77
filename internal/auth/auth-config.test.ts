import { X509Certificate } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { TestCa } from "../../test/support/bridge/certificates.ts";
import { block } from "../config/block.ts";
import { ConfigError } from "../config/config-fault.ts";
import { readConfigText } from "../config/config-file.ts";
import { authBlock, crlPolicyValue, openAuth } from "./auth-config.ts";
import { fingerprintOf } from "./issuing-cas.ts";

const ca = new TestCa("shop");
const certificate = new X509Certificate(ca.pem);
const folder = mkdtempSync(join(tmpdir(), "auth-"));
for (const name of ["ca.crt", "shop.pub"]) writeFileSync(join(folder, name), ca.pem);
afterAll(() => rmSync(folder, { recursive: true }));

const schema = (at: string) => block({ auth: authBlock(at), tls: block({ crl_policy: crlPolicyValue() }) });
const KEYS = { jwt_public_keys: [{ issuer: "shop", key_path: "shop.pub" }] };

/** The parsed block, with the text of each fault as that of an error. */
function opened(text: object) {
  try {
    return readConfigText(JSON.stringify(text), schema, { file: "f.yaml", folder });
  } catch (err) {
    throw err instanceof ConfigError ? new Error(err.lines.join("\n")) : err;
  }
}

function read(auth: unknown) {
  const { value, findings } = opened({ auth });
  return openAuth(value.auth, ["auth"], findings);
}

const readCrlPolicy = (policy: unknown) =>
  opened({ auth: KEYS, tls: policy === undefined ? {} : { crl_policy: policy } }).value.tls.crl_policy;
const KEY = { issuer: "shop", key_path: "shop.pub" };

/** The example of the requirements. */
const EXAMPLE = {
  jwt_public_keys: [
    { issuer: "prd-manager", key_path: join(folder, "certs/prd-manager-jwt.pub") },
    { issuer: "ndara-orchestrator", key_path: "certs/ndara-jwt.pub" },
  ],
  jwt_audience: "bridge",
  jwt_max_ttl: "5m",
};

it("reads the example of the bridge's requirements", () => {
  expect(read(EXAMPLE)).toEqual({
    keyFiles: [
      { path: join(folder, "certs/prd-manager-jwt.pub"), rule: { issuer: "prd-manager" } },
      { path: join(folder, "certs/ndara-jwt.pub"), rule: { issuer: "ndara-orchestrator" } },
    ],
    ...{ audience: "bridge", maxTtlMs: 300_000, clockSkewMs: 30_000 },
  });
});

it.each([
  ["a fingerprint", fingerprintOf(certificate), fingerprintOf(certificate)],
  ["a fingerprint as openssl prints it", certificate.fingerprint256, fingerprintOf(certificate)],
  ["a fingerprint with its algorithm", `sha256:${fingerprintOf(certificate)}`, fingerprintOf(certificate)],
  ["a file", "ca.crt", certificate],
])("takes %s for an issuer's CA", (_, given, taken) => {
  const [file] = read({ jwt_public_keys: [{ ...KEY, ca: given, projects: ["a"] }] }).keyFiles;
  const [first] = file?.rule.cas ?? [];
  expect(first instanceof X509Certificate ? first.raw : first).toEqual(
    taken instanceof X509Certificate ? taken.raw : taken,
  );
  expect(file?.rule.projects).toEqual(["a"]);
});

describe("a configuration is refused", () => {
  it.each<[unknown, string]>([
    [undefined, "auth.jwt_public_keys: is required"],
    ["yes", "auth: must be a block"],
    [{ jwt_public_keys: [] }, "auth.jwt_public_keys: must have an entry"],
    [
      { ...EXAMPLE, jwt_max_ttl: "5m1s" },
      "auth.jwt_max_ttl: must be a duration such as 30s, 5m or 1h30m, from 1s to 5m",
    ],
    [{ ...EXAMPLE, jwt_max_ttl: "1h" }, "auth.jwt_max_ttl: must be"],
    [{ ...EXAMPLE, jwt_max_ttl: 300 }, "auth.jwt_max_ttl: must be"],
    [{ ...EXAMPLE, clock_skew: "2m" }, "auth.clock_skew: must be"],
    [{ ...EXAMPLE, jwt_audience: "" }, "auth.jwt_audience: must be"],
    [{ jwt_public_keys: [{ issuer: "shop" }] }, "auth.jwt_public_keys[0].key_path: is required"],
    [{ jwt_public_keys: [{ ...KEY, projects: [] }] }, "auth.jwt_public_keys[0].projects: must name"],
  ])("%j: %s", (auth, words) => {
    expect(() => read(auth)).toThrow(words);
  });
});

describe("a check cannot be turned off", () => {
  it.each([
    ...["insecure", "insecure_skip_verify", "verify", "disabled", "enabled", "required", "algorithms", "allow_none"],
    ...["plaintext", "leeway", "skip_audience", "jwt_secret", "anonymous", "mode"],
  ])("by a key auth.%s", (name) => {
    for (const value of [true, false, "none", "optional"]) {
      expect(() => read({ ...EXAMPLE, [name]: value })).toThrow(`auth.${name}: is not known here`);
      expect(() => read({ jwt_public_keys: [{ ...KEY, [name]: value }] })).toThrow(`[0].${name}: is not known here`);
    }
  });

  it.each(["none", "off", "ignore", "", false, null, ["require"]])("by tls.crl_policy %j", (policy) => {
    expect(() => readCrlPolicy(policy)).toThrow("tls.crl_policy");
  });

  it("anywhere in the programs: no line skips verification or allows an older TLS", () => {
    const roots = ["internal", "cmd"].map((name) => join(import.meta.dirname, "../..", name));
    const files = roots.flatMap((root) =>
      readdirSync(root, { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
        .map((name) => join(root, name)),
    );
    expect(files.length).toBeGreaterThan(200);
    const off =
      /rejectUnauthorized:(?!\s*true\b)|requestCert:\s*false|NODE_TLS_REJECT_UNAUTHORIZED|m(?:in|ax)Version:\s*"(?!TLSv1\.3")|secureProtocol|--tls-min|checkServerIdentity:\s*\(\)/;
    // With an optional client certificate, the listener refuses one that does not verify after the handshake.
    const optional = "requestCert: true, rejectUnauthorized: !isCertificateOptional }";
    const textOf = (file: string) => {
      const text = readFileSync(file, "utf8");
      return file.endsWith("internal/rpc/common/tls.ts") ? text.replace(optional, "}") : text;
    };
    expect(files.filter((file) => off.test(textOf(file)))).toEqual([]);
  });
});

it("requires a list from each CA, from none, or from some", () => {
  const other = new X509Certificate(new TestCa("other").pem);
  const policies = (policy: unknown) => [certificate, other].map(readCrlPolicy(policy));
  expect(policies(undefined)).toEqual(["if-present", "if-present"]);
  expect(policies("require")).toEqual(["require", "require"]);
  expect(policies({ [fingerprintOf(certificate)]: "require" })).toEqual(["require", "if-present"]);
  expect(policies({ default: "require", [certificate.fingerprint256]: "if-present" })).toEqual([
    "if-present",
    "require",
  ]);
});
