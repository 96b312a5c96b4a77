import { controllerRule, type RoleRule, roleOf } from "../../auth/roles.ts";
import type { CallRules, ServerTokenOptions, TlsPlace } from "../../auth/serving/trusted-server.ts";
import { checkSession, identitiesOf } from "../../auth/tls/identities.ts";
import type { CheckedTls } from "../../pki/tls-files.ts";
import type { ListenAddress } from "../../rpc/port/listen.ts";
import type { Peer } from "../../rpc/port/peer.ts";
import { FREE_SERVICES, needsNoRole, projectGate, roleGate } from "./access.ts";
import { NEEDED_ROLES } from "./server.ts";

type Rules = Omit<CallRules, "routes">;

/** A sidecar's TLS folder: its certificate names the session. */
export function tlsPlace(
  { dir, trust }: { readonly dir: string; readonly trust: TlsPlace["trust"] | undefined },
  sessionId: string,
): TlsPlace {
  return { dir, check: ({ leaf }) => checkSession(leaf, sessionId), trust };
}

/**
 * Tokens give roles too. Their keys were valid at the first start; a key that cannot be used now is loaded as soon as
 * it can be used.
 */
export function tokenOptions(tokens: Pick<ServerTokenOptions, "keyFiles" | "audience">): ServerTokenOptions {
  return { ...tokens, required: false, freeServices: FREE_SERVICES, mayWait: true };
}

/** The roles of callers over TLS; the controllers of the certificate's own trust domain may speak for a person. */
export function tlsRules({ leaf }: CheckedTls, rules: readonly RoleRule[], project: string): Rules {
  const controllers = controllerRule(identitiesOf(leaf));
  const hasRole = (peer: Peer, by: readonly RoleRule[]) =>
    peer.type === "certificate" && roleOf(peer.identities, by) !== undefined;
  return {
    gates: [projectGate(project), roleGate(rules, NEEDED_ROLES)],
    hasRole: (peer) => hasRole(peer, rules),
    believes: (peer) => hasRole(peer, controllers),
    isOpenToAll: needsNoRole,
  };
}

/** Without TLS every caller may do everything; over a unix socket peers name the persons they speak for. */
export function plainRules({ path }: ListenAddress): Rules {
  return { gates: [], believes: path === undefined ? undefined : ({ type }: Peer) => type === "local" };
}
