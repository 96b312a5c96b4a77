import { projectRefusal } from "../../auth/bridge-policy.ts";
import { higherOf, includes, isRole, type Role, type RoleRule, roleOf } from "../../auth/roles.ts";
import { tokenKey } from "../../auth/token-gate.ts";
import { DomainError } from "../../base/errors.ts";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection as ReflectionV1 } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ReflectionV1Alpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { callerKey } from "../../rpc/port/caller.ts";
import { peerKey } from "../../rpc/port/peer.ts";
import type { CallContext } from "../../rpc/server/call-facts.ts";

/** Services that reveal nothing about an agent and so need only a certificate. */
export const FREE_SERVICES: ReadonlySet<string> = new Set(
  [Health, ReflectionV1, ReflectionV1Alpha].map((it) => it.typeName),
);

/** Health and reflection: a caller without a role may call them. */
export function needsNoRole(service: string): boolean {
  return FREE_SERVICES.has(service);
}

/** The least role for each RPC, by service and by the method's name in camel case. */
export type NeededRoles = Readonly<Record<string, Readonly<Record<string, Role>>>>;

/**
 * The caller's role, by its certificate or its token; without TLS no caller is known and each may do everything. A peer
 * that speaks for a person may limit its role to the person's.
 */
export function callerRole(context: CallContext, rules: readonly RoleRule[]): Role | undefined {
  const held = peerRole(context, rules);
  const { senderRole } = context.values.get(callerKey);
  if (held === undefined || senderRole === undefined) return held;
  if (!isRole(senderRole)) return undefined;
  return includes(held, senderRole) ? senderRole : held;
}

function peerRole(context: CallContext, rules: readonly RoleRule[]): Role | undefined {
  const peer = context.values.get(peerKey);
  if (peer.type !== "certificate") return "operate";
  return higherOf(roleOf(peer.identities, rules), context.values.get(tokenKey)?.claims.role);
}

/** Refuses tokens that are for another project. */
export function projectGate(project: string): (context: CallContext) => void {
  return ({ values }) => {
    const refusal = projectRefusal(values.get(tokenKey)?.claims ?? { project }, project);
    if (refusal) throw refusal;
  };
}

/**
 * Refuses, before their request is read, callers whose role is lower than `needed`, and every caller of an RPC without
 * a role.
 */
export function roleGate(rules: readonly RoleRule[], needed: NeededRoles): (context: CallContext) => void {
  return (context) => {
    const { service, method } = context;
    if (needsNoRole(service.typeName)) return;
    const role = needed[service.typeName]?.[method.localName];
    if (role === undefined)
      throw new DomainError("denied", `no caller may call ${method.name}: no role is assigned to it`);
    if (includes(callerRole(context, rules), role)) return;
    throw new DomainError("denied", `this caller may not call ${method.name}: it needs the role ${role}`);
  };
}
