import { X509Certificate } from "node:crypto";
import { expect, it } from "vitest";
import { TestCa } from "../../test/support/bridge/certificates.ts";
import { serverRevocation } from "./trust.ts";

const town = new TestCa("town");
const other = new TestCa("other");
const server = town.issue({ ips: ["127.0.0.1"] });
const certificate = new X509Certificate(server.cert);

it.each([
  ["names it", town.revoke([server]), "CERT_REVOKED"],
  ["named it and has expired", town.revoke([server], { days: -0.5, startDays: -2 }), "CERT_REVOKED"],
  ["does not name it", town.revoke([]), undefined],
  ["belongs to another CA", other.revoke([server]), undefined],
])("a server certificate and a list that %s", (_, crl, code) => {
  const refuse = serverRevocation(town.pem + other.pem, crl, Date.now);
  expect((refuse(certificate, []) as { code?: string } | undefined)?.code).toBe(code);
});

it("an unreadable list is reported at once", () => {
  expect(() => serverRevocation(town.pem, "", Date.now)).toThrow("no revocation list");
});
