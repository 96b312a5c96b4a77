import { DomainError } from "../base/errors.ts";
import { quotedText } from "../base/quoted-text.ts";
import { includes, type Role } from "./roles.ts";
import type { TokenClaims } from "./token-claims.ts";

/** The minimum role for each RPC of BridgeService. An RPC that is not listed is refused for every caller. */
const NEEDED: ReadonlyMap<string, Role> = new Map([
  ...["GetSession", "ListSessions", "ListProviders", "Health", "StreamEvents", "AckEvents"].map(forRole("read")),
  ...["WatchSessions", "Peek", "Status", "WatchOutput"].map(forRole("read")),
  ...["SendInput", "Nudge", "GetNudge", "CancelNudge"].map(forRole("nudge")),
  ...["StartSession", "StopSession", "SendKeys", "Respond"].map(forRole("operate")),
  ["Attach", "read"], // typing needs more: `attachRefusal`
]);

function forRole(role: Role): (method: string) => [string, Role] {
  return (method) => [method, role];
}

type Caller = Pick<TokenClaims, "project" | "role">;

/** Why a caller may not call an RPC with its role; undefined: it may. Needs no request. */
export function roleRefusal(caller: Caller, method: string): DomainError | undefined {
  const needed = NEEDED.get(method);
  if (needed === undefined) return new DomainError("denied", `no caller may call ${method}: no role is assigned to it`);
  if (includes(caller.role, needed)) return undefined;
  return new DomainError("denied", `this token may not call ${method}: it needs the scope ${needed}`);
}

/** Why a caller may not act in a project, e.g. one that its request names; undefined: it may. */
export function projectRefusal(caller: Pick<Caller, "project">, project: string): DomainError | undefined {
  if (project === caller.project) return undefined;
  return new DomainError("denied", "the token is for another project");
}

/**
 * Why a caller may not access a session; undefined: it may. A session of another project gets the same error as one
 * that does not exist, so that ids cannot be probed.
 * @param session the session that the request names; undefined if it does not exist
 */
export function sessionRefusal(
  caller: Caller,
  id: string,
  session: { readonly project: string } | undefined,
): DomainError | undefined {
  if (session !== undefined && session.project === caller.project) return undefined;
  return new DomainError("not-found", `no session ${quotedText(id.slice(0, 128))}`);
}

/** Why a caller may not attach; undefined: it may. */
export function attachRefusal(caller: Caller, readOnly: boolean): DomainError | undefined {
  if (readOnly || includes(caller.role, "operate")) return undefined;
  return new DomainError("denied", "this token is read-only: typing needs the scope operate", {
    fields: { hint: "attach read-only" },
  });
}
