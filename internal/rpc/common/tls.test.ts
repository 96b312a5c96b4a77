import { expect, it } from "vitest";
import { clientTlsOptions, serverTlsOptions } from "./tls.ts";

const material = { cert: "C", key: "K", ca: "A" };

it("sets everything for which a server context has a default", () => {
  expect(serverTlsOptions(material)).toEqual({
    ...material,
    minVersion: "TLSv1.3",
    maxVersion: "TLSv1.3",
    requestCert: true,
    rejectUnauthorized: true,
    allowPartialTrustChain: true,
  });
});

it("trusts a CA in ca.crt without its issuer", () => {
  expect(clientTlsOptions(material)).toMatchObject({ allowPartialTrustChain: true });
});
