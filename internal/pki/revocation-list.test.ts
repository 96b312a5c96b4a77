import { X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { TestCa } from "../../test/support/bridge/certificates.ts";
import { fc } from "../../test/support/property.ts";
import { DomainError } from "../base/errors.ts";
import { pemBlocks } from "./pem.ts";
import { RevocationList, revocationListsOf } from "./revocation-list.ts";

const ca = new TestCa("town");
const revoked = ca.issue({});
const good = ca.issue({});
const pem = ca.revoke([revoked]);
const certificate = ({ cert }: { readonly cert: string }) => new X509Certificate(cert);

const [list] = revocationListsOf(pem) as [RevocationList];

describe("a revocation list", () => {
  it("lists the certificates that it revokes, and no others", () => {
    expect(list.size).toBe(1);
    expect(list.names(certificate(revoked))).toBe(true);
    expect(list.names(certificate(good))).toBe(false);
  });

  it("is signed by its CA and by no other", () => {
    expect(list.isSignedBy(new X509Certificate(ca.pem))).toBe(true);
    expect(list.isSignedBy(new X509Certificate(new TestCa("town").pem))).toBe(false);
  });

  it("has a period of validity", () => {
    const day = 86_400_000;
    expect(Math.abs(list.thisUpdate - (Date.now() - day))).toBeLessThan(5000);
    expect(Math.abs((list.nextUpdate ?? 0) - (Date.now() + 7 * day))).toBeLessThan(5000);
  });

  it("may be empty", () => {
    expect(revocationListsOf(ca.revoke([]))[0]?.size).toBe(0);
  });

  it("may be in one file with others", () => {
    expect(revocationListsOf(pem + new TestCa("other").revoke([])).map(({ size }) => size)).toEqual([1, 0]);
  });
});

it.each([
  ["", "no revocation list"],
  ["-----BEGIN X509 CRL-----\n-----END X509 CRL-----", "not a revocation list"],
  ["-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----", "not"],
  [ca.pem, "no revocation list"],
  [ca.pem.replaceAll("CERTIFICATE", "X509 CRL"), "not"],
])("refuses %j", (text, message) => {
  expect(() => revocationListsOf(text)).toThrow(
    expect.objectContaining({ kind: "invalid", message: expect.stringContaining(message) }),
  );
});

it("with a changed byte is refused, or its signature fails", () => {
  const [bytes] = pemBlocks(pem, "X509 CRL") as [Buffer];
  const issuer = new X509Certificate(ca.pem);
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ flip;
      try {
        expect(new RevocationList(changed).isSignedBy(issuer)).toBe(false);
      } catch (err) {
        expect(err).toBeInstanceOf(DomainError);
      }
    }),
  );
});

it("with an issuer's name that is cut within a character is refused as malformed", () => {
  const pem = new TestCa("odd").revoke([]);
  const der = Buffer.from(pem.replace(/-----[^-]+-----|\n/g, ""), "base64");
  der[der.indexOf("odd") - 2] = 0x1e; // a BMPString, of two bytes a letter
  const list = `-----BEGIN X509 CRL-----\n${der.toString("base64")}\n-----END X509 CRL-----\n`;
  expect(() => revocationListsOf(list)).toThrow(DomainError);
});
