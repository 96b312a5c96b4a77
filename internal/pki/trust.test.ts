import { X509Certificate } from "node:crypto";
import { expect, it } from "vitest";
import { TestCa } from "../../test/support/certificates.ts";
import { certificatesOf } from "./pem.ts";
import { revocationListsOf } from "./revocation-list.ts";
import { Trust } from "./trust.ts";

const DAY = 86_400_000;
const now = Date.now();
const old = new TestCa("old");
const next = new TestCa("next");
const leafOf = ({ cert }: { readonly cert: string }) => new X509Certificate(cert);
const trustIn = (...cas: TestCa[]) => new Trust(cas.map(({ pem }) => new X509Certificate(pem)));

it("goes from good to untrusted when its CA is taken out", () => {
  const leaf = leafOf(old.issue({}));
  expect(trustIn(old).standing(leaf, now)).toBe("good");
  expect(trustIn(old, next).standing(leaf, now)).toBe("good");
  expect(trustIn(next).standing(leaf, now)).toBe("untrusted");
  expect(trustIn().standing(leaf, now)).toBe("untrusted");
});

it("begins and ends with its dates, those of the CA too", () => {
  const leaf = leafOf(old.issue({ startDays: 1, days: 3 }));
  const standings = [0.5, 2, 4].map((days) => trustIn(old).standing(leaf, now + days * DAY));
  expect(standings).toEqual(["not-yet-valid", "good", "expired"]);
  const long = leafOf(old.issue({ days: 30 }));
  expect(trustIn(old).standing(long, now + 8 * DAY)).toBe("expired");
  expect(trustIn(old).notAfter(long)).toBe(new X509Certificate(old.pem).validToDate.getTime());
});

it("follows intermediates, and their revocation", () => {
  const between = new TestCa("between", old);
  const { cert } = between.issue({});
  const [leaf, ...chain] = certificatesOf(cert);
  expect(trustIn(old).standing(leaf, now)).toBe("untrusted");
  expect(trustIn(old).standing(leafOf({ cert }), now, chain)).toBe("good");
  const lists = revocationListsOf(old.revoke([{ ...old.issue({}), cert: between.pem }]));
  expect(new Trust([new X509Certificate(old.pem)], lists).standing(leaf, now, chain)).toBe("revoked");
});

it("hears a revocation list of the certificate's own issuer only", () => {
  const revoked = old.issue({});
  const cas = [old, next].map(({ pem }) => new X509Certificate(pem));
  const standing = (crl: string) => new Trust(cas, revocationListsOf(crl)).standing(leafOf(revoked), now);
  expect(standing(old.revoke([revoked]))).toBe("revoked");
  expect(standing(next.revoke([revoked]))).toBe("good");
  expect(standing(old.revoke([]))).toBe("good");
  expect(standing(next.revoke([]) + old.revoke([revoked]))).toBe("revoked");
});

it("does not take a leaf for a CA", () => {
  const leaf = leafOf(old.issue({}));
  expect(new Trust([leaf]).standing(leaf, now)).toBe("untrusted");
});
