import type { HandlerContext } from "@connectrpc/connect";
import type { AuditLog } from "../../auth/audit-log.ts";
import { attachRefusal, projectRefusal, sessionRefusal } from "../../auth/bridge-policy.ts";
import { DomainError } from "../../base/errors.ts";
import { correlationKey } from "../../rpc/server/call-facts.ts";
import { spanKey } from "../../rpc/server/trace-calls.ts";
import type { Caller, SessionBackend, SessionKey } from "../session-backend.ts";
import { claimsOf } from "./bridge-gate.ts";
import { callerIdentity } from "./caller-identity.ts";

/** What a caller may do with projects and sessions. Each decision goes to the audit log. */
export class CallAccess {
  readonly #sessions: Pick<SessionBackend, "get">;
  readonly #audit: Pick<AuditLog, "policy">;

  constructor(deps: { readonly backend: Pick<SessionBackend, "get">; readonly audit: Pick<AuditLog, "policy"> }) {
    this.#sessions = deps.backend;
    this.#audit = deps.audit;
  }

  caller(context: HandlerContext): Caller {
    const claims = claimsOf(context);
    const trace = context.values.get(spanKey);
    return { identity: callerIdentity(claims), role: claims.role, ...(trace && { trace }) };
  }

  /** The project of the call. @throws DomainError `denied` when the request names another; empty: it names none */
  project(context: HandlerContext, named: string, session?: string): string {
    const claims = claimsOf(context);
    const refusal = named === "" ? undefined : projectRefusal(claims, named);
    this.#audit.policy(context, { project: named || claims.project, ...(session && { session }) }, refusal);
    if (refusal) throw numbered(context, refusal);
    return claims.project;
  }

  /** @throws DomainError `invalid` without an id, `not-found` for a session that the caller's project does not have */
  session(context: HandlerContext, id: string): SessionKey {
    const claims = claimsOf(context);
    if (id === "") throw new DomainError("invalid", "a session_id is required");
    const key = { project: claims.project, id };
    context.values.get(spanKey)?.set({ "gastown.session": id.slice(0, 128), "gastown.project": claims.project });
    const session = this.#sessions.get(key);
    const refusal = sessionRefusal(claims, id, session);
    this.#audit.policy(context, { session: id, ...(session && { project: session.project }) }, refusal);
    if (refusal) throw refusal;
    return key;
  }

  /** @throws DomainError `denied` for one who may look only and would type */
  attach(context: HandlerContext, { project, id }: SessionKey, readOnly: boolean): void {
    const refusal = attachRefusal(claimsOf(context), readOnly);
    this.#audit.policy(context, { project, session: id }, refusal);
    if (refusal) throw numbered(context, refusal);
  }
}

/** With the id that the audit log has of it. Not for `not-found`: of another project's session nothing differs. */
function numbered({ values }: HandlerContext, { kind, message, fields }: DomainError): DomainError {
  return new DomainError(kind, message, { fields: { ...fields, correlation_id: values.get(correlationKey) } });
}
