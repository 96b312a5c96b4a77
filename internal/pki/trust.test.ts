import { X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { TestCa } from "../../test/support/bridge/certificates.ts";
import { certificatesOf } from "./pem.ts";
import { revocationListsOf } from "./revocation-list.ts";
import { Trust } from "./trust.ts";

const DAY = 86_400_000;
const now = Date.now();
const old = new TestCa("old");
const next = new TestCa("next");
const leafOf = ({ cert }: { readonly cert: string }) => new X509Certificate(cert);
const trustIn = (...cas: TestCa[]) => new Trust(cas.map(({ pem }) => new X509Certificate(pem)));

it("goes from good to untrusted when its CA is removed", () => {
  const leaf = leafOf(old.issue({}));
  expect(trustIn(old).standing(leaf, now)).toBe("good");
  expect(trustIn(old, next).standing(leaf, now)).toBe("good");
  expect(trustIn(next).standing(leaf, now)).toBe("untrusted");
  expect(trustIn().standing(leaf, now)).toBe("untrusted");
});

it("is valid within its dates and those of the CA", () => {
  const leaf = leafOf(old.issue({ startDays: 1, days: 3 }));
  const standings = [0.5, 2, 4].map((days) => trustIn(old).standing(leaf, now + days * DAY));
  expect(standings).toEqual(["not-yet-valid", "good", "expired"]);
  const long = leafOf(old.issue({ days: 30 }));
  expect(trustIn(old).standing(long, now + 8 * DAY)).toBe("expired");
  expect(trustIn(old).notAfter(long)).toBe(new X509Certificate(old.pem).validToDate.getTime());
});

it("follows intermediates and their revocation", () => {
  const between = new TestCa("between", old);
  const { cert } = between.issue({});
  const [leaf, ...chain] = certificatesOf(cert);
  expect(trustIn(old).standing(leaf, now)).toBe("untrusted");
  expect(trustIn(old).standing(leafOf({ cert }), now, chain)).toBe("good");
  const lists = revocationListsOf(old.revoke([{ cert: between.pem }]));
  expect(new Trust([new X509Certificate(old.pem)], lists).standing(leaf, now, chain)).toBe("revoked");
});

it("uses only the revocation list of the certificate's own issuer", () => {
  const revoked = old.issue({});
  const cas = [old, next].map(({ pem }) => new X509Certificate(pem));
  const standing = (crl: string) => new Trust(cas, revocationListsOf(crl)).standing(leafOf(revoked), now);
  expect(standing(old.revoke([revoked]))).toBe("revoked");
  expect(standing(next.revoke([revoked]))).toBe("good");
  expect(standing(old.revoke([]))).toBe("good");
  expect(standing(next.revoke([]) + old.revoke([revoked]))).toBe("revoked");
});

it("does not accept a leaf as a CA", () => {
  const leaf = leafOf(old.issue({}));
  expect(new Trust([leaf]).standing(leaf, now)).toBe("untrusted");
});

const bridge = new TestCa("bridge");
const consumer = new TestCa("consumer");
const pems = (...texts: string[]) => texts.map((pem) => new X509Certificate(pem));

describe("a certificate below a cross-signature", () => {
  const leaf = leafOf(consumer.issue({ days: 30 }));

  it("is good while the cross-signature is valid, and reports which CA has signed it", () => {
    const cross = bridge.crossSign(consumer);
    const trust = new Trust(pems(bridge.pem, cross));
    expect(trust.standing(leaf, now)).toBe("good");
    expect(trust.issuerOf(leaf, now)?.raw).toEqual(new X509Certificate(cross).raw);
  });

  it("ends with the cross-signature, or with the CA that signed it", () => {
    const short = new Trust(pems(bridge.pem, bridge.crossSign(consumer, { days: 2 })));
    expect(short.standing(leaf, now + 3 * DAY)).toBe("expired");
    expect(Math.abs(short.notAfter(leaf) - now - 2 * DAY)).toBeLessThan(60_000);
    const long = new Trust(pems(bridge.pem, bridge.crossSign(consumer, { days: 30 })));
    expect(long.standing(leaf, now + 8 * DAY)).toBe("expired"); // the bridge's CA has 7 days
    expect(long.issuerOf(leaf, now + 8 * DAY)).toBeUndefined();
  });

  it("is revoked with the cross-signature", () => {
    const cross = bridge.crossSign(consumer);
    const lists = revocationListsOf(bridge.revoke([{ cert: cross }]));
    expect(new Trust(pems(bridge.pem, cross), lists).standing(leaf, now)).toBe("revoked");
  });

  it("is good if another cross-signature replaces a revoked or expired one", () => {
    const revoked = bridge.crossSign(consumer);
    const replacing = bridge.crossSign(consumer, { days: 5 });
    const lists = revocationListsOf(bridge.revoke([{ cert: revoked }]));
    const trust = new Trust(pems(bridge.pem, revoked, replacing), lists);
    expect(trust.standing(leaf, now)).toBe("good");
    expect(trust.issuerOf(leaf, now)?.raw).toEqual(new X509Certificate(replacing).raw);
    expect(trust.standing(leaf, now + 6 * DAY)).toBe("revoked");
  });

  it("is decided even if CAs have signed each other in a circle", () => {
    const third = new TestCa("third");
    const all = pems(bridge.crossSign(consumer), consumer.crossSign(bridge), third.crossSign(bridge), bridge.pem);
    expect(new Trust(all).standing(leaf, now)).toBe("good");
  });
});

describe("a CA whose revocation list is required", () => {
  const leaf = leafOf(old.issue({}));
  const cas = pems(old.pem, next.pem);
  const require = (crl?: string) =>
    new Trust(cas, crl === undefined ? [] : revocationListsOf(crl), {
      crlPolicyOf: (issuer) => (issuer.raw.equals(cas[0]?.raw as Buffer) ? "require" : "if-present"),
    });

  it("has no good certificate without a list, or with an expired one", () => {
    expect(require().standing(leaf, now)).toBe("no-list");
    expect(require(next.revoke([])).standing(leaf, now)).toBe("no-list");
    expect(require(old.revoke([], { days: 1 })).standing(leaf, now)).toBe("good");
    expect(require(old.revoke([], { days: 1 })).standing(leaf, now + 2 * DAY)).toBe("no-list");
  });

  it("does not require a list of the other CAs", () => {
    expect(require().standing(leafOf(next.issue({})), now)).toBe("good");
  });
});
