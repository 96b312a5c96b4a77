import { createHash, X509Certificate } from "node:crypto";
import { expect, it } from "vitest";
import { TestCa } from "../../../test/support/bridge/certificates.ts";
import { ownTrustDomain, sessionClaim } from "./session-name.ts";

const town = new TestCa("town");
const uri = (id: string, domain = "town.example") => `spiffe://${domain}/ns/agents/session/${id}`;
const nameOf = (id: string, domain = "town.example") =>
  `${createHash("sha256").update(id).digest("hex").slice(0, 32)}.agents.session.${domain}`;
const certificate = (names: { uris?: string[]; dns?: string[] }) => new X509Certificate(town.issue(names).cert);

it.each([
  ["its URI name", { uris: [uri("s-1")] }, { type: "by-uri" }],
  ["its DNS name, whatever was dialled", { uris: [uri("s-1")], dns: [nameOf("s-1")] }, { type: "by-name" }],
  ["one of several", { uris: [uri("s-0"), uri("s-1")] }, { type: "by-uri" }],
  ["no name at all", { dns: ["toast.example"] }, { type: "silent" }],
  ["another session", { uris: [uri("s-2")] }, { type: "another", named: uri("s-2") }],
  [
    "another trust domain",
    { uris: [uri("s-1", "evil.example")] },
    { type: "another", named: uri("s-1", "evil.example") },
  ],
  ["another DNS name", { dns: [nameOf("s-2")] }, { type: "another", named: nameOf("s-2") }],
])("recognises a session's certificate by %s", (_, names, claim) => {
  expect(sessionClaim(certificate(names), "s-1", "town.example")).toEqual(claim);
});

it("compares the namespace if the pod's namespace is known", () => {
  const both = certificate({ uris: [uri("s-1")], dns: [nameOf("s-1")] });
  expect(sessionClaim(both, "s-1", "town.example", "agents")).toEqual({ type: "by-name" });
  expect(sessionClaim(both, "s-1", "town.example", "other")).toEqual({ type: "another", named: uri("s-1") });
  const named = certificate({ dns: [nameOf("s-1")] });
  expect(sessionClaim(named, "s-1", undefined, "other")).toEqual({ type: "another", named: nameOf("s-1") });
});

it("reads the trust domain from its own certificate", () => {
  expect(ownTrustDomain(certificate({ uris: ["spiffe://town.example/client/ann"] }))).toBe("town.example");
  expect(ownTrustDomain(certificate({ dns: ["ann.example"] }))).toBeUndefined();
});
