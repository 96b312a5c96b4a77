import { hash, X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { TestCa } from "../../../test/support/bridge/certificates.ts";
import { callerOf } from "./caller.ts";
import type { Peer } from "./peer.ts";

const controller: Peer = {
  type: "certificate",
  identities: ["spiffe://town/ns/gastown/controller"],
  serial: "0A",
  notAfter: 0,
  address: "10.0.0.1:1",
};
const certificate = new X509Certificate(new TestCa("town").issue({}).cert);
const SHA256 = hash("sha256", certificate.raw, "hex");
/** Another CA's certificate may have the same serial. */
const nameless: Peer = { ...controller, certificate, identities: [] };
const local: Peer = { type: "local", address: "unix" };
const stranger: Peer = { type: "unverified", address: "[::1]:7" };

describe("the caller behind a peer", () => {
  it.each<[string, Peer, string | undefined, boolean, string]>([
    ["is the certificate's first URI name", controller, undefined, false, "spiffe://town/ns/gastown/controller"],
    ["is the certificate by its SHA-256 if it has no URI name", nameless, undefined, false, `certificate ${SHA256}`],
    [
      "is the caller that a believed peer names",
      controller,
      "ann",
      true,
      "ann via spiffe://town/ns/gastown/controller",
    ],
    ["is the caller that a believed local peer names", local, "ann", true, "ann via unix"],
    ["is the peer if it names no caller", local, "", true, "unix"],
    ["is the peer if its word is not believed", controller, "ann", false, "spiffe://town/ns/gastown/controller"],
    ["is unknown on plaintext, whatever the peer says", stranger, "ann", false, ""],
  ])("%s", (_, peer, sender, believed, identity) => {
    expect(callerOf(peer, sender, believed).identity).toBe(identity);
  });

  it("has a share by its address if it is unknown", () => {
    expect(callerOf(stranger, undefined, false).share).toBe("[::1]");
    expect(callerOf(controller, "ann", true).share).toBe("ann via spiffe://town/ns/gastown/controller");
  });

  it.each(["a\tb", " ann", "ann ", "é", "x".repeat(257)])("is refused with the name %j", (sender) => {
    expect(callerOf(local, sender, true).fault).toMatchObject({ kind: "invalid" });
  });
});
