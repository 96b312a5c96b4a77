import { hostname, userInfo } from "node:os";

/** The caller's claimed name: the role that upstream gives its agents (GT_ROLE), otherwise user and machine. */
export function senderOf(env: Readonly<Record<string, string | undefined>>): string {
  if (env["GT_ROLE"]) return env["GT_ROLE"];
  return `${env["USER"] || env["LOGNAME"] || userName()}@${hostname()}`;
}

/** The header of `internal/rpc/port/caller.ts`; that file brings the RPC library. */
const SENDER_HEADER = "gastown-sender";
/** The senders that a header can carry. */
const NAME = /^[\x20-\x7e]{1,256}$/;

/** Names the sender to a sidecar that trusts its caller, if a header can contain the name. */
export function senderHeaders(env: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  const sender = senderOf(env);
  return NAME.test(sender) ? { [SENDER_HEADER]: sender } : {};
}

/** Without an entry in the user database there is no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.() ?? 0}`;
  }
}
