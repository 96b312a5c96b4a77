import { X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { TestCa } from "../../test/support/bridge/certificates.ts";
import { checkTls, isFor } from "./tls-files.ts";

const town = new TestCa("town");
const other = new TestCa("other");
const files = town.issue({ ips: ["127.0.0.1"] });
const DAY = 86_400_000;

it("accepts matching files, and knows when they expire", () => {
  const checked = checkTls(files, "server", Date.now());
  expect(checked.leaf.subjectAltName).toBe("IP Address:127.0.0.1");
  expect(Math.abs(checked.notAfter - Date.now() - 7 * DAY)).toBeLessThan(60_000);
  expect(checked.listsDue).toBeUndefined();
});

it("accepts a chain with an intermediate, and expires with its first certificate", () => {
  const between = new TestCa("between", town, 2);
  const checked = checkTls(between.issue({ ips: ["127.0.0.1"] }), "server", Date.now());
  expect(Math.abs(checked.notAfter - Date.now() - 2 * DAY)).toBeLessThan(60_000);
});

it("accepts several CAs and a list of one of them, as during the replacement of a CA", () => {
  const both = { ...files, ca: other.pem + town.pem, crl: other.revoke([]) };
  expect(checkTls(both, "server", Date.now()).listsDue).toBeGreaterThan(Date.now());
});

it("distinguishes two CAs with the same name", () => {
  const namesake = new TestCa("town");
  const both = { ...files, ca: namesake.pem + town.pem, crl: namesake.revoke([files]) };
  expect(checkTls(both, "server", Date.now()).leaf).toBeDefined();
});

describe("refuses, with a reason and the file's name,", () => {
  const now = Date.now();
  it.each([
    ["an emptied certificate", { ...files, cert: "" }, "unreadable", "tls.crt"],
    ["a torn certificate", { ...files, cert: files.cert.slice(0, 200) }, "unreadable", "tls.crt"],
    [
      "a certificate with a changed letter",
      { ...files, cert: files.cert.replace("MII", "MXX") },
      "unreadable",
      "tls.crt",
    ],
    ["an emptied key", { ...files, key: "" }, "unreadable", "tls.key"],
    ["a torn key", { ...files, key: files.key.slice(0, 80) }, "unreadable", "tls.key"],
    ["an emptied CA", { ...files, ca: "" }, "unreadable", "ca.crt"],
    ["another certificate's key", { ...files, key: town.issue({}).key }, "mismatch", "tls.key"],
    ["a CA that has not signed the certificate", { ...files, ca: other.pem }, "untrusted", "tls.crt"],
    ["a leaf in place of a CA", { ...files, ca: files.cert }, "untrusted", "ca.crt"],
    ["an expired certificate", town.issue({ ips: ["127.0.0.1"], days: -0.5 }), "expired", "tls.crt"],
    [
      "a certificate that is not valid yet",
      town.issue({ ips: ["127.0.0.1"], startDays: 0.5 }),
      "not-yet-valid",
      "tls.crt",
    ],
    ["a caller's certificate", town.issue({ uris: ["spiffe://town/client/a"] }), "usage", "serverAuth"],
    ["a certificate without a usage", town.issue({ ips: ["127.0.0.1"], usages: [] }), "usage", "serverAuth"],
    ["a revoked certificate", { ...files, crl: town.revoke([files]) }, "revoked", "tls.crt"],
    ["an emptied revocation list", { ...files, crl: "" }, "crl", "crl.pem"],
    ["another CA's revocation list", { ...files, crl: other.revoke([]) }, "crl", "crl.pem"],
    [
      "a revocation list out of date",
      { ...files, crl: town.revoke([], { days: -0.5, startDays: -2 }) },
      "crl",
      "out of date",
    ],
    ["a revocation list of tomorrow", { ...files, crl: town.revoke([], { startDays: 0.5 }) }, "crl", "not valid yet"],
  ])("%s", (_, broken, reason, named) => {
    expect(() => checkTls(broken, "server", now)).toThrow(
      expect.objectContaining({
        kind: "invalid",
        message: expect.stringContaining(named),
        fields: { reason, file: expect.any(String) },
      }),
    );
  });

  it("and does not reveal the content of the key", () => {
    const lines = files.key.split("\n").filter((line) => line !== "" && !line.startsWith("-"));
    for (const key of ["", files.key.slice(0, 80), town.issue({}).key, lines.join("")]) {
      try {
        checkTls({ ...files, key }, "server", now);
        expect.unreachable();
      } catch (err) {
        for (const line of lines) expect(String((err as Error).message)).not.toContain(line);
      }
    }
  });
});

it("reports the usages of a certificate", () => {
  const client = new X509Certificate(town.issue({ uris: ["spiffe://town/client/a"] }).cert);
  expect([isFor(client, "client"), isFor(client, "server")]).toEqual([true, false]);
  const nothing = new X509Certificate(town.issue({ usages: [] }).cert);
  expect(isFor(nothing, "client")).toBe(false);
});
