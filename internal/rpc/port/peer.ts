import type { X509Certificate } from "node:crypto";
import { isIPv6, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { createContextKey } from "@connectrpc/connect";
import { urisOf } from "../../base/text/uri-names.ts";
import type { SocketEnds } from "./socket-owners.ts";

/** The other end of a connection, as far as the connection itself proves it. */
export type Peer =
  | {
      /** The certificate was verified against our CA by the handshake. */
      readonly type: "certificate";
      /**
       * URI SANs, e.g. `spiffe://example.org/client/alice`; without any, the result of the server's `identify`. May be
       * empty.
       */
      readonly identities: readonly string[];
      readonly serial: string;
      readonly certificate?: X509Certificate;
      /** Wall clock, ms. */
      readonly notAfter: number;
      readonly address: string;
    }
  /** A peer at a unix socket; `address` is `unix`. */
  | { readonly type: "local"; readonly address: string }
  /** `ends`: both ends of the connection, for `SocketOwners`; absent if the peer has disconnected. */
  | { readonly type: "unverified"; readonly address: string; readonly ends?: SocketEnds };

/** Interceptors and handlers read the peer with `context.values.get(peerKey)`. */
export const peerKey = createContextKey<Peer>(
  { type: "unverified", address: "" },
  { description: "who calls, by the connection" },
);

/** Identities of the owner of a certificate without a URI name, the main one first. */
export type Identify = (certificate: X509Certificate) => readonly string[];

/**
 * The peer of a connection, and its certificate if it has proven one. `isLocal`: the connection is at a unix socket.
 */
export function peerOfSocket(
  socket: Socket,
  { isLocal = false, identify }: { readonly isLocal?: boolean; readonly identify?: Identify | undefined } = {},
): { readonly peer: Peer; readonly certificate?: X509Certificate } {
  if (isLocal) return { peer: { type: "local", address: "unix" } };
  const address = addressOf(socket);
  const certificate = "encrypted" in socket ? certificateOf(socket as TLSSocket) : undefined;
  if (certificate === undefined) return { peer: { type: "unverified", address, ...endsOf(socket) } };
  const { subjectAltName = "" } = certificate;
  const hasUris = subjectAltName.includes("URI:");
  const identities = hasUris ? urisOf(subjectAltName).filter(isWholeUri) : (identify?.(certificate) ?? []);
  const { serialNumber: serial, validToDate } = certificate;
  const notAfter = validToDate.getTime();
  return { peer: { type: "certificate", identities, serial, certificate, notAfter, address }, certificate };
}

/** `host:port` of the other end; empty if it has disconnected. */
export function addressOf({ remoteAddress: host, remotePort: port }: Socket): string {
  return host === undefined ? "" : `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

function endsOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): { readonly ends?: SocketEnds } {
  if (!localAddress || !localPort || !remoteAddress || !remotePort) return {};
  const server = { host: localAddress, port: localPort };
  return { ends: { server, client: { host: remoteAddress, port: remotePort } } };
}

function certificateOf(socket: TLSSocket): X509Certificate | undefined {
  return socket.authorized ? socket.getPeerX509Certificate() : undefined;
}

/** The name has a scheme and only URI characters: otherwise it could pose as an identity of another kind. */
function isWholeUri(name: string): boolean {
  return /^[a-z][a-z\d+.-]*:[\x21-\x7e]+$/i.test(name);
}
