import { createContextKey } from "@connectrpc/connect";
import { DomainError } from "../../base/errors.ts";
import type { Peer } from "./peer.ts";

/** The header in which a trusted peer names the person on whose behalf it calls. */
export const SENDER_HEADER = "gastown-sender";

/** The header with that person's role; without it, the peer's own role applies. */
export const SENDER_ROLE_HEADER = "gastown-sender-role";

/** The identity of a peer at a unix socket that names no person. */
export const LOCAL_IDENTITY = "unix";

/** The caller: the peer, or the person that a trusted peer names. */
export interface Caller {
  /**
   * The peer's identity (`spiffe://…`, or `<SHA-256 of its CA>/<CN>`), or `<sender> via <peer>`. Empty: not known
   * (plaintext).
   */
  readonly identity: string;
  /** The key under which its calls are counted: the identity, or the peer's address if there is none. */
  readonly share: string;
  /** The maximum role of the person that a trusted peer names. */
  readonly senderRole?: string;
  /** The error with which its calls are refused. */
  readonly fault?: DomainError;
}

/** Handlers read the caller with `context.values.get(callerKey)`. */
export const callerKey = createContextKey<Caller>(
  { identity: "", share: "" },
  { description: "who calls, or for whom" },
);

const SENDER = /^[\x21-\x7e](?:[\x20-\x7e]{0,254}[\x21-\x7e])?$/;

/**
 * The caller behind a peer. `sender` is the peer's header `gastown-sender`, 1 to 256 printable ASCII characters; it is
 * ignored unless the peer is `believed`.
 */
export function callerOf(peer: Peer, sender: string | undefined, believed: boolean): Caller {
  const name = nameOf(peer);
  if (!believed || sender === undefined || sender === "") return { identity: name, share: name || addressOf(peer) };
  if (SENDER.test(sender)) return known(`${sender} via ${name}`);
  const fault = new DomainError("invalid", `the header ${SENDER_HEADER} takes 1 to 256 printable ASCII characters`);
  return { ...known(name), fault };
}

function known(identity: string): Caller {
  return { identity, share: identity };
}

/** The address without the port. Empty: not known. */
function addressOf({ address }: Peer): string {
  const end = address.lastIndexOf(":");
  return end === -1 ? address : address.slice(0, end);
}

function nameOf(peer: Peer): string {
  switch (peer.type) {
    case "certificate":
      return peer.identities[0] ?? namelessOf(peer);
    case "local":
      return LOCAL_IDENTITY;
    case "unverified":
      return "";
  }
}

/**
 * Identifies the certificate by its SHA-256: CAs choose serials, so certificates of two CAs may have the same serial.
 */
function namelessOf({ certificate, serial }: Extract<Peer, { type: "certificate" }>): string {
  return `certificate ${certificate?.fingerprint256.replaceAll(":", "").toLowerCase() ?? serial}`;
}
