import { generateKeyPairSync, verify, X509Certificate } from "node:crypto";
import { expect, it } from "vitest";
import { TestCa } from "../../test/support/bridge/certificates.ts";
import { type Credentials, Tokens } from "./auth.ts";

const NOW = Date.UTC(2026, 10, 22);
const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const tls = new TestCa("consumer").issue({ uris: ["spiffe://consumer/client/app"] });
const credentials: Credentials = { tls, signingKey: privateKey, lists: [], leaf: new X509Certificate(tls.cert) };
const JWT = {
  ...{ privateKeyPath: "k", issuer: "prd-manager", audience: "bridge", subject: "app", projectId: "p1" },
  ...{ scope: "operate" as const, ttlMs: 300_000 },
};

function newTokens(ttlMs = JWT.ttlMs) {
  const clock = { now: NOW };
  return { clock, tokens: new Tokens({ ...JWT, ttlMs }, credentials, () => clock.now) };
}
const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as object;

it("signs a token as the bridge requires it, bound to the certificate", () => {
  const token = newTokens().tokens.current();
  const thumbprint = credentials.leaf.fingerprint256.replaceAll(":", "");
  expect(claimsOf(token)).toEqual({
    ...{ iss: "prd-manager", sub: "app", project_id: "p1", aud: "bridge", scope: "operate" },
    ...{ iat: NOW / 1000, exp: NOW / 1000 + 300 },
    cnf: { "x5t#S256": Buffer.from(thumbprint, "hex").toString("base64url") },
  });
  const [header = "", payload = "", signature = ""] = token.split(".");
  expect(JSON.parse(Buffer.from(header, "base64url").toString())).toEqual({ alg: "EdDSA", typ: "JWT" });
  const signed = Buffer.from(`${header}.${payload}`);
  expect(verify(null, signed, publicKey, Buffer.from(signature, "base64url"))).toBe(true);
});

it.each([
  [300_000, 270_000],
  [60_000, 30_000],
  [10_000, 5000],
])("replaces a token of %i ms after %i ms", (ttlMs, renewedAfterMs) => {
  const { clock, tokens } = newTokens(ttlMs);
  const first = tokens.current();
  expect(tokens.renewsAt).toBe(NOW + renewedAfterMs);
  clock.now = NOW + renewedAfterMs - 1;
  expect(tokens.current()).toBe(first);
  clock.now = NOW + renewedAfterMs;
  expect(tokens.current()).not.toBe(first);
});

it("replaces its token after the clock was set back, because the bridge accepts none from the future", () => {
  const { clock, tokens } = newTokens();
  tokens.current();
  clock.now = NOW - 3_600_000;
  expect(claimsOf(tokens.current())).toMatchObject({ iat: NOW / 1000 - 3600 });
});

it("signs with a new key at once, and keeps its token if the key is the same", () => {
  const { tokens } = newTokens();
  const first = tokens.current();
  tokens.useKey(privateKey);
  expect(tokens.current()).toBe(first);
  tokens.useKey(generateKeyPairSync("ed25519").privateKey);
  expect(tokens.current()).not.toBe(first);
});
