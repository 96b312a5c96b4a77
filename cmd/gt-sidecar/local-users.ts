import { existsSync } from "node:fs";
import { DomainError } from "../../internal/base/errors.ts";
import { isLoopbackHost } from "../../internal/base/loopback.ts";
import { unixUser } from "../../internal/process/users/unix-user.ts";
import type { ListenAddress } from "../../internal/rpc/port/listen.ts";

const ANY = "any";
const MAX_UID = 2 ** 32 - 2;

/** Whether this machine reports which user connects to a port on loopback. */
export function reportsUsers(): boolean {
  return existsSync("/proc/net/tcp");
}

/**
 * Reads `--allow-local-user`: the uids that a plaintext port on loopback serves in addition to its own user and root.
 * Undefined: any user, because of `any`, or because the listener is not such a port.
 * @throws DomainError `invalid` for a user that does not exist, or where this machine does not report who connects
 */
export function readLocalUsers(
  given: readonly string[] | undefined,
  listen: ListenAddress,
  { tls, isReported = reportsUsers() }: { readonly tls: boolean; readonly isReported?: boolean },
): readonly number[] | undefined {
  const users = (given ?? []).flatMap((user) => (user === ANY ? [] : [uidOf(user)]));
  const isLoopback = isLoopbackHost(listen.host);
  if (tls || listen.path !== undefined || !isLoopback || given?.includes(ANY)) return undefined;
  if (isReported) return users;
  throw new DomainError("invalid", "this machine does not report which user connects to a port on loopback", {
    fields: { hint: "give --listen unix:PATH or --tls-dir; --allow-local-user any serves every user of the machine" },
  });
}

function uidOf(user: string): number {
  if (/^\d+$/.test(user) && Number(user) <= MAX_UID) return Number(user);
  try {
    if (/^[A-Za-z_]/.test(user)) return unixUser(user).uid;
  } catch (err) {
    if (!(err instanceof DomainError)) throw err;
  }
  throw new DomainError("invalid", `--allow-local-user: there is no user ${JSON.stringify(user.slice(0, 80))}`, {
    fields: { hint: "it takes a user's name or uid, or any" },
  });
}
