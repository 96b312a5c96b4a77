import type { X509Certificate } from "node:crypto";
import { isIPv6, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { createContextKey } from "@connectrpc/connect";
import { urisOf } from "../../base/uri-names.ts";

/** Who calls, as far as the connection itself proves it. */
export type Peer =
  | {
      /** The certificate was verified against our CA by the handshake. */
      readonly type: "certificate";
      /** URI SANs, e.g. `spiffe://example.org/client/alice`. May be empty. */
      readonly uris: readonly string[];
      readonly serial: string;
      readonly certificate?: X509Certificate;
      /** Wall clock, ms. */
      readonly notAfter: number;
      readonly address: string;
    }
  /** At the other end of a unix socket; `address` is `unix`. */
  | { readonly type: "local"; readonly address: string }
  | { readonly type: "unverified"; readonly address: string };

/** Where interceptors and handlers find who calls: `context.values.get(peerKey)`. */
export const peerKey = createContextKey<Peer>(
  { type: "unverified", address: "" },
  { description: "who calls, by the connection" },
);

/** Who is at the other end of a connection, and the certificate that proves it. `isLocal`: it is a unix socket. */
export function peerOfSocket(
  socket: Socket,
  isLocal = false,
): { readonly peer: Peer; readonly certificate?: X509Certificate } {
  if (isLocal) return { peer: { type: "local", address: "unix" } };
  const address = addressOf(socket);
  const certificate = "encrypted" in socket ? certificateOf(socket as TLSSocket) : undefined;
  if (certificate === undefined) return { peer: { type: "unverified", address } };
  const uris = urisOf(certificate.subjectAltName ?? "");
  const { serialNumber: serial, validToDate } = certificate;
  const peer = { type: "certificate", uris, serial, certificate, notAfter: validToDate.getTime(), address } as const;
  return { peer, certificate };
}

/** `host:port` of the other end; empty when it has gone. */
export function addressOf({ remoteAddress: host, remotePort: port }: Socket): string {
  return host === undefined ? "" : `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

function certificateOf(socket: TLSSocket): X509Certificate | undefined {
  return socket.authorized ? socket.getPeerX509Certificate() : undefined;
}
