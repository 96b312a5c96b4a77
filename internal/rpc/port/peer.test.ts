import { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { expect, it } from "vitest";
import { TestCa } from "../../../test/support/bridge/certificates.ts";
import { peerOfSocket } from "./peer.ts";

const town = new TestCa("town");
const identify = () => ["by its CA"];

function identitiesOf(...uris: string[]) {
  const certificate = new X509Certificate(town.issue({ uris }).cert);
  const socket = { encrypted: true, authorized: true, getPeerX509Certificate: () => certificate };
  const { peer } = peerOfSocket(socket as unknown as TLSSocket, { identify });
  return peer.type === "certificate" ? peer.identities : undefined;
}

it.each<[string[], string[]]>([
  [["spiffe://town/client/ann"], ["spiffe://town/client/ann"]],
  [[], ["by its CA"]],
  [[`${"0a".repeat(32)}/ann`], []],
  [["//town/client/ann", "spiffe://town/client/bob"], ["spiffe://town/client/bob"]],
  [["spiffe://town/ann via spiffe://town/ns/a/controller"], []],
])("a certificate with the URI names %j is of %j", (uris, identities) => {
  expect(identitiesOf(...uris)).toEqual(identities);
});
