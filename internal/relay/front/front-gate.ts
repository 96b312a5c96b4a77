import { type ContextKey, type ContextValues, createContextKey } from "@connectrpc/connect";
import { includes } from "../../auth/roles.ts";
import { tokenKey } from "../../auth/token-gate.ts";
import { DomainError } from "../../base/errors.ts";
import type { CallContext } from "../../rpc/server/call-facts.ts";
import { type AgentClaims, laneRefusal } from "../door/agent-claims.ts";
import { type FrontPlace, readFrontPlace } from "./front-place.ts";

/** The service name of the editors' path, for gates and the audit log. */
export const EDITORS_SERVICE = "relay.editors";

const placeKey: ContextKey<FrontPlace | undefined> = createContextKey<FrontPlace | undefined>(undefined, {
  description: "lanes of an editor's connection",
});

/**
 * Admits an editor if its query and token agree. Must run after the gate that verifies tokens. A connection with a
 * token is for the token's lane only.
 */
export function frontGate(context: CallContext): void {
  if (context.service.typeName !== EDITORS_SERVICE) return;
  const place = readFrontPlace(context.url);
  const token = context.values.get(tokenKey);
  if (token === undefined) return void context.values.set(placeKey, place);
  const { lane } = (token.claims as AgentClaims).place;
  const wanted = { sessionId: place.sessionId ?? lane.sessionId, role: place.role ?? lane.role };
  const refusal = laneRefusal(token, wanted);
  if (refusal !== undefined) throw refusal;
  if (!includes(token.claims.role, "nudge")) throw new DomainError("denied", "a prompt needs the scope nudge");
  context.values.set(placeKey, wanted);
}

/** The lanes of a call. @throws DomainError `not-found` for a call that did not pass the gate */
export function frontPlaceOf(values: ContextValues): FrontPlace {
  const place = values.get(placeKey);
  if (place === undefined) throw new DomainError("not-found", "there is nothing here");
  return place;
}
