import type { HandlerContext } from "@connectrpc/connect";
import type { AuditLog } from "../../auth/audit-log.ts";
import { attachRefusal, projectRefusal, sessionRefusal } from "../../auth/bridge-policy.ts";
import { DomainError, type ErrorKind } from "../../base/errors.ts";
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

  /** Whose key has signed the caller's token. */
  issuer(context: HandlerContext): string {
    return claimsOf(context).issuer;
  }

  /** The project of the call. @throws DomainError `denied` when the request names another; empty: it names none */
  project(context: HandlerContext, named: string): string {
    const claims = claimsOf(context);
    const refusal = named === "" ? undefined : projectRefusal(claims, named);
    this.#audit.policy(context, { project: named || claims.project }, refusal);
    if (refusal) throw numbered(context, refusal);
    return claims.project;
  }

  /**
   * As `project`, for a call that decides more once it is under way, about a session that need not exist: what `decide`
   * throws is the one decision that is audited.
   */
  async deciding<T>(context: HandlerContext, named: string, session: string, decide: () => Promise<T>): Promise<T> {
    const about = { project: named, ...(session && { session }) };
    const foreign = projectRefusal(claimsOf(context), named);
    try {
      if (foreign) throw foreign;
      const done = await decide();
      this.#audit.policy(context, about, undefined);
      return done;
    } catch (err) {
      if (!(err instanceof DomainError)) throw err;
      this.#audit.policy(context, about, REFUSALS.has(err.kind) ? err : undefined);
      throw err.kind === "denied" ? numbered(context, err) : err;
    }
  }

  /**
   * @param admit what else must hold of the call; its refusal is the one decision that is audited
   * @throws DomainError `invalid` without an id, `not-found` for a session that the caller's project does not have
   */
  session(context: HandlerContext, id: string, admit?: (key: SessionKey) => void): SessionKey {
    const claims = claimsOf(context);
    if (id === "") throw new DomainError("invalid", "a session_id is required");
    const key = { project: claims.project, id };
    context.values.get(spanKey)?.set({ "gastown.session": id.slice(0, 128), "gastown.project": claims.project });
    const session = this.#sessions.get(key);
    const refusal = sessionRefusal(claims, id, session) ?? refusalOf(() => admit?.(key));
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

/** Failures that are decisions about a caller; others say that something did not work. */
const REFUSALS: ReadonlySet<ErrorKind> = new Set([
  ...(["denied", "exhausted", "invalid", "precondition", "already-exists"] as const),
]);

function refusalOf(check: () => void): DomainError | undefined {
  try {
    check();
    return undefined;
  } catch (err) {
    if (err instanceof DomainError) return err;
    throw err;
  }
}

/** With the id that the audit log has of it. Not for `not-found`: of another project's session nothing differs. */
function numbered({ values }: HandlerContext, { kind, message, fields }: DomainError): DomainError {
  return new DomainError(kind, message, { fields: { ...fields, correlation_id: values.get(correlationKey) } });
}
