import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { type Peer, peerKey } from "../../rpc/port/peer.ts";
import type { SocketOwners } from "../../rpc/port/socket-owners.ts";
import type { CallContext } from "../../rpc/server/call-facts.ts";

export interface LocalUsersDeps {
  readonly owners: Pick<SocketOwners, "ownerOf">;
  readonly logger: Logger;
  /** The sidecar's own uid. */
  readonly uid: number;
  /** Other users that are served, by uid. */
  readonly allowed: readonly number[];
}

const ROOT = 0;
const HINT = "--allow-local-user names others; --listen unix:PATH and --tls-dir identify callers";

/**
 * A gate for plaintext on loopback, where any user of the machine may connect: it serves the sidecar's own user, root
 * and those that are allowed. Each connection is checked once, before its first call.
 */
export function localUsersGate({ owners, logger, uid, allowed }: LocalUsersDeps) {
  const served = new Set([uid, ROOT, ...allowed]);
  const refusals = new WeakMap<Peer, Promise<DomainError | undefined>>();
  const judge = async (peer: Peer): Promise<DomainError | undefined> => {
    if (peer.type !== "unverified") return undefined;
    const owner = peer.ends && (await owners.ownerOf(peer.ends));
    if (owner !== undefined && served.has(owner)) return undefined;
    logger.warn({ peer: peer.address, uid: owner }, "refusing another user of this machine");
    return owner === undefined ? unknown() : another(owner, uid);
  };
  return async (context: CallContext): Promise<void> => {
    const peer = context.values.get(peerKey);
    const known = refusals.get(peer) ?? judge(peer);
    refusals.set(peer, known);
    const refusal = await known;
    if (refusal !== undefined) throw refusal;
  };
}

function another(owner: number, uid: number): DomainError {
  const message = `user ${owner} may not call: on loopback without TLS this sidecar serves only its own user (${uid}) and root`;
  return new DomainError("denied", message, { fields: { hint: HINT } });
}

function unknown(): DomainError {
  const message =
    "cannot tell which user of this machine calls: on loopback without TLS this sidecar serves only its own user and root";
  return new DomainError("denied", message, { fields: { hint: HINT } });
}
