import { generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { TestCa } from "../../test/support/bridge/certificates.ts";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { mintToken } from "./mint-token.ts";
import { type TokenKeySet, TokenVerifier } from "./token-verifier.ts";

const ca = new TestCa("shop");
const issuer = new X509Certificate(ca.pem);
const over = { certificate: new X509Certificate(ca.issue({}).cert), issuer, cas: [issuer], isOwn: false };
const rule = { issuer: "shop" };
const [first, second] = [generateKeyPairSync("ed25519"), generateKeyPairSync("ed25519")];
const setOf = (...keys: KeyObject[]): TokenKeySet => new Map([["shop", keys.map((key) => ({ rule, key }))]]);

let clock: FakeClock;
let keys: TokenKeySet;
let verifier: TokenVerifier;
beforeEach(() => {
  clock = new FakeClock();
  keys = setOf(first.publicKey);
  const options = { audience: "bridge", maxTtlMs: 3_600_000, clockSkewMs: 30_000, cacheEntries: 3 };
  verifier = new TokenVerifier({ clock, keys: () => keys }, options);
});
const token = (pair = first, ttlMs = 60_000, subject = "app") =>
  mintToken(pair.privateKey, { issuer: "shop", subject, project: "p", audience: "bridge", ttlMs }, clock.now());

it("verifies a token's signature once, and checks its times each time", async () => {
  const text = token();
  const verified = verifier.verify(text, over);
  expect(verifier.verify(text, over)).toBe(verified);
  await clock.advance(60_000);
  expect(() => verifier.verify(text, over)).toThrow("has expired");
  expect(verifier.cached).toBe(0);
});

it("refuses a verified token over another certificate", () => {
  const other = new TestCa("other");
  const text = token();
  verifier.verify(text, over);
  const elsewhere = { ...over, issuer: new X509Certificate(other.pem), cas: [issuer, new X509Certificate(other.pem)] };
  expect(() => verifier.verify(text, elsewhere)).toThrow("is not valid with this certificate");
});

it("accepts a token over each CA for which its issuer's key is listed, whichever came first", () => {
  const next = new TestCa("shop-2");
  const cas = [issuer, new X509Certificate(next.pem)] as const;
  keys = new Map([["shop", cas.map((one) => ({ rule: { issuer: "shop", cas: [one] }, key: first.publicKey }))]]);
  const overNext = { ...over, certificate: new X509Certificate(next.issue({}).cert), issuer: cas[1], cas: [...cas] };
  const text = token();
  for (const facts of [over, overNext, over, overNext]) {
    expect(verifier.verify(text, { ...facts, cas: [...cas] }).claims.subject).toBe("app");
  }
});

it("refuses a lifetime above five minutes, whatever its options say", () => {
  verifier.verify(token(first, 300_000), over);
  expect(() => verifier.verify(token(first, 301_000), over)).toThrow("valid for more than 300 seconds");
});

it("remembers a bounded number of valid and invalid tokens", () => {
  for (let i = 0; i < 10; i++) {
    verifier.verify(token(first, 60_000, `a${i}`), over);
    expect(() => verifier.verify(token(second, 60_000, `b${i}`), over)).toThrow("signature");
  }
  expect(verifier.cached).toBe(6);
});

describe("a key", () => {
  it("is accepted from the moment it is added until it is removed", () => {
    const [old, next] = [token(first), token(second)];
    const verified = verifier.verify(old, over);
    expect(() => verifier.verify(next, over)).toThrow("signature");
    keys = new Map([["shop", [...(keys.get("shop") ?? []), { rule, key: second.publicKey }]]]);
    verifier.verify(next, over);
    expect(verifier.verify(old, over).key).toBe(verified.key);
    keys = setOf(second.publicKey);
    expect(() => verifier.verify(old, over)).toThrow("signature");
    expect(verifier.holds(verified)).toBe(false);
  });
});
