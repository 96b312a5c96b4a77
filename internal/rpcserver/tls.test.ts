import { expect, it } from "vitest";
import { clientTlsOptions, serverTlsOptions } from "./tls.ts";

const material = { cert: "C", key: "K", ca: "A" };

it("names all that a server context falls back on otherwise", () => {
  expect(serverTlsOptions(material)).toEqual({
    ...material,
    minVersion: "TLSv1.3",
    maxVersion: "TLSv1.3",
    requestCert: true,
    rejectUnauthorized: true,
  });
});

it("passes a revocation list on only when there is one", () => {
  expect(serverTlsOptions({ ...material, crl: "R" })).toMatchObject({ crl: "R" });
  expect(clientTlsOptions(material)).not.toHaveProperty("crl");
});
