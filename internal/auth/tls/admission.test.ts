import { X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { TestCa } from "../../../test/support/bridge/certificates.ts";
import { revocationListsOf } from "../../pki/revocation-list.ts";
import { Trust } from "../../pki/trust.ts";
import { admissionRefusal } from "./admission.ts";

const town = new TestCa("town");
const now = Date.now();
const DAY = 86_400_000;
const CLIENT = "spiffe://town/client/ann";
const trusting = (ca: TestCa, crl?: string) =>
  new Trust([new X509Certificate(ca.pem)], crl ? revocationListsOf(crl) : []);

function refusal(
  uri: string,
  options: { usages?: ("client" | "server")[]; trust?: Trust; at?: number; isNew?: boolean } = {},
) {
  const { usages = ["client"], trust = trusting(town), at = now, isNew = false } = options;
  const certificate = new X509Certificate(town.issue({ uris: [uri], usages }).cert);
  return admissionRefusal({ certificate, isNew }, trust, at);
}

describe("the owner of a certificate", () => {
  it.each([CLIENT, "spiffe://town/ns/agents/controller", "spiffe://town/ns/session/controller"])(
    "%s may call",
    (uri) => {
      expect(refusal(uri)).toBeUndefined();
    },
  );

  it.each([
    ["no usage", []],
    ["servers", ["server"]],
  ] as const)("may not call with a certificate for %s", (_, usages) => {
    expect(refusal(CLIENT, { usages: [...usages] })).toMatchObject({
      kind: "unauthenticated",
      message: expect.stringContaining("clientAuth"),
    });
  });

  it.each([["client"], ["client", "server"]] as ("client" | "server")[][])(
    "may not call as a sidecar, whatever it is for: %s",
    (...usages) => {
      expect(refusal("spiffe://town/ns/agents/session/s1", { usages })).toMatchObject({ kind: "denied" });
    },
  );

  it("may not call once it has expired or its CA is gone, and may reconnect with a new one", () => {
    expect(refusal(CLIENT, { at: now + 8 * DAY })).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("expired"),
    });
    const gone = refusal(CLIENT, { trust: trusting(new TestCa("next")) });
    expect(gone).toMatchObject({ kind: "unavailable", message: expect.stringContaining("connect again") });
  });

  it("is not asked to reconnect if it was never admitted", () => {
    expect(refusal(CLIENT, { at: now + 8 * DAY, isNew: true })).toMatchObject({ kind: "unauthenticated" });
    const strange = refusal(CLIENT, { trust: trusting(new TestCa("next")), isNew: true });
    expect(strange).toMatchObject({ kind: "unauthenticated" });
  });

  it("may not call if it is revoked or not valid yet", () => {
    const issued = town.issue({ uris: [CLIENT] });
    const certificate = new X509Certificate(issued.cert);
    const trust = trusting(town, town.revoke([issued]));
    expect(admissionRefusal({ certificate, isNew: true }, trust, now)).toMatchObject({
      kind: "unauthenticated",
      message: expect.stringContaining("revoked"),
    });
    expect(refusal(CLIENT, { at: now - 2 * DAY })).toMatchObject({ kind: "unauthenticated" });
  });
});
