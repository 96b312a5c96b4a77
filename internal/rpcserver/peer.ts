import type { X509Certificate } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { isIPv6, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { createContextKey } from "@connectrpc/connect";

/** Who calls, as far as the connection itself proves it. */
export type Peer =
  | {
      /** The certificate was verified against our CA by the handshake. */
      readonly type: "certificate";
      /** URI SANs, e.g. `spiffe://example.org/client/alice`. May be empty. */
      readonly uris: readonly string[];
      readonly serial: string;
      /** Wall clock, ms. */
      readonly notAfter: number;
      readonly address: string;
    }
  | { readonly type: "unverified"; readonly address: string };

/** Where interceptors and handlers find who calls: `context.values.get(peerKey)`. */
export const peerKey = createContextKey<Peer>(
  { type: "unverified", address: "" },
  { description: "who calls, by the connection" },
);

/** Finds a request's peer; looks at each connection once. */
export class Peers {
  readonly #known = new WeakMap<object, Peer>();

  of(req: IncomingMessage | Http2ServerRequest): Peer {
    const connection = "stream" in req ? req.stream.session : req.socket;
    if (connection === undefined) return { type: "unverified", address: "" };
    const known = this.#known.get(connection);
    if (known) return known;
    const peer = peerOfSocket("socket" in connection ? connection.socket : connection);
    this.#known.set(connection, peer);
    return peer;
  }
}

function peerOfSocket(socket: Socket): Peer {
  const { remoteAddress: host, remotePort: port } = socket;
  const address = host === undefined ? "" : `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const certificate = "encrypted" in socket ? certificateOf(socket as TLSSocket) : undefined;
  if (certificate === undefined) return { type: "unverified", address };
  const uris = urisOf(certificate.subjectAltName ?? "");
  return {
    type: "certificate",
    uris,
    serial: certificate.serialNumber,
    notAfter: Date.parse(certificate.validTo),
    address,
  };
}

function certificateOf(socket: TLSSocket): X509Certificate | undefined {
  return socket.authorized ? socket.getPeerX509Certificate() : undefined;
}

const SAN_ENTRY = /(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,"]*)(?=, |$)/gy;

/**
 * URI names of a subjectAltName as Node prints it: `URI:spiffe://a/b, DNS:x`. Values with a comma, a quote or a control
 * character stand in JSON quotes there, so that one name cannot pose as two. Anything that does not parse to the end
 * gives no names at all.
 */
export function urisOf(subjectAltName: string): string[] {
  const uris: string[] = [];
  let end = 0;
  for (const entry of subjectAltName.matchAll(SAN_ENTRY)) {
    const [text, type, value = ""] = entry;
    end = entry.index + text.length;
    if (type === "URI") uris.push(value.startsWith('"') ? String(JSON.parse(value)) : value);
  }
  return end === subjectAltName.length ? uris : [];
}
