import { roleRefusal } from "../../auth/bridge-policy.ts";
import type { TokenClaims } from "../../auth/token-claims.ts";
import { tokenKey } from "../../auth/token-gate.ts";
import { DomainError } from "../../base/errors.ts";
import { BridgeService } from "../../gen/bridge/v1/bridge_pb.ts";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection as ReflectionV1 } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ReflectionV1Alpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import type { CallContext } from "../../rpc/server/call-facts.ts";

/** These services reveal nothing about a project: any valid token is enough. */
const FOR_ANY_TOKEN: ReadonlySet<string> = new Set([Health, ReflectionV1, ReflectionV1Alpha].map((it) => it.typeName));

/**
 * Refuses callers whose token's scope is too low for the RPC, before the request is read. Must run after the gate that
 * verifies tokens, which must require a token for every service.
 */
export function bridgeGate(context: CallContext): void {
  const claims = claimsOf(context);
  const { service, method } = context;
  if (FOR_ANY_TOKEN.has(service.typeName)) return;
  if (service.typeName !== BridgeService.typeName)
    throw new DomainError("denied", `no caller may call ${service.typeName}: no role is assigned to it`);
  const refusal = roleRefusal(claims, method.name);
  if (refusal) throw refusal;
}

/** The claims of a call's token. @throws DomainError `unauthenticated` for a call without a token */
export function claimsOf({ values }: CallContext): TokenClaims {
  const claims = values.get(tokenKey)?.claims;
  if (claims === undefined) throw new DomainError("unauthenticated", "the call has no token (authorization: Bearer)");
  return claims;
}
