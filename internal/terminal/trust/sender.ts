import { hostname, userInfo } from "node:os";

/** The caller's claimed name: the role that upstream gives its agents (GT_ROLE), otherwise user and machine. */
export function senderOf(env: Readonly<Record<string, string | undefined>>): string {
  if (env["GT_ROLE"]) return env["GT_ROLE"];
  return `${env["USER"] || env["LOGNAME"] || userName()}@${hostname()}`;
}

/** The same header as in `internal/rpc/port/caller.ts`, which is not imported because it loads the RPC library. */
const SENDER_HEADER = "gastown-sender";
/** The senders that a header can carry. */
const NAME = /^[\x20-\x7e]{1,256}$/;

/** Names the sender to a sidecar that trusts its caller, if a header can contain the name. */
export function senderHeaders(env: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  const sender = senderOf(env);
  return NAME.test(sender) ? { [SENDER_HEADER]: sender } : {};
}

/** The user's name, or a name made of the uid if the user database has no entry for it. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.() ?? 0}`;
  }
}
