import { type ContextKey, type ContextValues, createContextKey } from "@connectrpc/connect";
import { tokenKey } from "../../auth/token-gate.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { CallContext } from "../../rpc/server/call-facts.ts";
import type { DialectOptions } from "../acp/dialect.ts";
import type { RelayMetrics } from "../lanes/relay-metrics.ts";
import { claimsRefusal } from "./agent-claims.ts";
import { isRefused, readUpgradePlace, tokensOffered, type UpgradePlace, type UpgradeRefusal } from "./upgrade-place.ts";

/** The service name of the agents' path, for gates and the audit log. */
export const AGENTS_SERVICE = "relay.agents";

export interface AgentGateDeps {
  readonly logger: Logger;
  readonly metrics: Pick<RelayMetrics, "connectionsTotal">;
}

const placeKey: ContextKey<UpgradePlace | UpgradeRefusal | undefined> = createContextKey<
  UpgradePlace | UpgradeRefusal | undefined
>(undefined, { description: "the place that an agent connects for" });

/**
 * Admits an agent if its path, query, headers and token agree. Must run after the gate that verifies tokens. Leaves
 * unknown dialects to the handler.
 */
export function agentGate(deps: AgentGateDeps, dialects: DialectOptions) {
  return (context: CallContext): void => {
    if (context.service.typeName !== AGENTS_SERVICE) return;
    const head = { url: targetOf(context.url), headers: Object.fromEntries(context.requestHeader) };
    const place = readUpgradePlace(head, dialects);
    const refusal = refusalOf(place, context);
    context.values.set(placeKey, place);
    if (refusal === undefined) return;
    countRefusal(deps, isRefused(place) ? place.status : 403, refusal.message);
    throw refusal;
  };
}

/** Counts and logs the refusal of an agent with an HTTP status. */
export function countRefusal({ logger, metrics }: AgentGateDeps, status: number, reason: string): void {
  metrics.connectionsTotal.inc({ outcome: String(status) });
  logger.warn({ action: "agent_refused", status, reason }, "an agent is refused");
}

/** The place that a call asks for. @throws DomainError `not-found` for a call that did not pass the gate */
export function upgradePlaceOf(values: ContextValues): UpgradePlace | UpgradeRefusal {
  const place = values.get(placeKey);
  if (place === undefined) throw new DomainError("not-found", "there is nothing here");
  return place;
}

/** The tokens that browsers send as subprotocols, for the gate that verifies tokens. */
export function alsoShown({ service, requestHeader }: CallContext): readonly string[] {
  if (service.typeName !== AGENTS_SERVICE) return [];
  return tokensOffered({ "sec-websocket-protocol": requestHeader.get("sec-websocket-protocol") ?? undefined });
}

function refusalOf(place: UpgradePlace | UpgradeRefusal, { values }: CallContext): DomainError | undefined {
  if (isRefused(place)) {
    if (place.status === 426) return undefined;
    return new DomainError(place.status === 404 ? "not-found" : "invalid", place.reason);
  }
  const token = values.get(tokenKey);
  return token && claimsRefusal(token, place);
}

/** The URL without its origin: path and query, unchanged. */
function targetOf(url: string): string {
  return url.replace(/^https?:\/\/[^/?#]*/, "");
}
