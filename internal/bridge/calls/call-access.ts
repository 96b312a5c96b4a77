import type { HandlerContext } from "@connectrpc/connect";
import type { AuditLog } from "../../auth/audit-log.ts";
import { attachRefusal, projectRefusal, sessionRefusal } from "../../auth/bridge-policy.ts";
import { DomainError, type ErrorKind } from "../../base/errors.ts";
import { correlationKey } from "../../rpc/server/call-facts.ts";
import { spanKey } from "../../rpc/server/trace-calls.ts";
import type { Actor, SessionBackend, SessionInfo, SessionKey } from "../session-backend.ts";
import { claimsOf } from "./bridge-gate.ts";
import { callerIdentity } from "./caller-identity.ts";

/** Authorizes access to projects and sessions. Each decision goes to the audit log. */
export class CallAccess {
  readonly #sessions: Pick<SessionBackend, "get" | "confirmMissing">;
  readonly #audit: Pick<AuditLog, "policy">;

  constructor(deps: {
    readonly backend: Pick<SessionBackend, "get" | "confirmMissing">;
    readonly audit: Pick<AuditLog, "policy">;
  }) {
    this.#sessions = deps.backend;
    this.#audit = deps.audit;
  }

  caller(context: HandlerContext): Actor {
    const claims = claimsOf(context);
    const trace = context.values.get(spanKey);
    return { identity: callerIdentity(claims), role: claims.role, trace };
  }

  /** The issuer of the caller's token. */
  issuer(context: HandlerContext): string {
    return claimsOf(context).issuer;
  }

  /**
   * The project of the caller's token. `named`: the project in the request; empty: none. @throws DomainError `denied`
   * if the request names another project
   */
  project(context: HandlerContext, named: string): string {
    const claims = claimsOf(context);
    const refusal = named === "" ? undefined : projectRefusal(claims, named);
    this.#audit.policy(context, { project: named || claims.project }, refusal);
    if (refusal) throw numbered(context, refusal);
    return claims.project;
  }

  /**
   * Like `project`, for a call that `decide` must allow too; the session that the call names need not exist. Audits a
   * single decision: the error of `decide` if it throws.
   */
  async deciding<T>(context: HandlerContext, named: string, session: string, decide: () => Promise<T>): Promise<T> {
    const about = { project: named, session: session || undefined };
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
   * Finds a session for the caller.
   * @param admit checks further conditions of the call; its error is audited as the decision
   * @throws DomainError `invalid` without an id, `not-found` for a session that is not in the caller's project;
   * `unavailable` if it cannot be determined whether the session exists
   */
  async session(context: HandlerContext, id: string, admit?: (key: SessionKey) => void): Promise<SessionKey> {
    const claims = claimsOf(context);
    if (id === "") throw new DomainError("invalid", "a session_id is required");
    const key = { project: claims.project, id };
    context.values.get(spanKey)?.set({ "gastown.session": id.slice(0, 128), "gastown.project": claims.project });
    const session = this.#sessions.get(key) ?? (await this.#missing(key, context.signal));
    const refusal = sessionRefusal(claims, id, session) ?? refusalOf(() => admit?.(key));
    this.#audit.policy(context, { session: id, project: session?.project }, refusal);
    if (refusal) throw refusal;
    return key;
  }

  async #missing(key: SessionKey, signal: AbortSignal): Promise<SessionInfo | undefined> {
    await this.#sessions.confirmMissing?.(key, signal);
    return this.#sessions.get(key);
  }

  /** @throws DomainError `denied` if the caller's role is read-only and `readOnly` is false */
  attach(context: HandlerContext, { project, id }: SessionKey, readOnly: boolean): void {
    const refusal = attachRefusal(claimsOf(context), readOnly);
    this.#audit.policy(context, { project, session: id }, refusal);
    if (refusal) throw numbered(context, refusal);
  }
}

/** Kinds of errors that are decisions about a caller; the others are failures. */
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

/**
 * Adds the correlation id of the audit log to an error. Not used for `not-found`, which must look the same for a
 * session of another project.
 */
function numbered({ values }: HandlerContext, { kind, message, fields }: DomainError): DomainError {
  return new DomainError(kind, message, { fields: { ...fields, correlation_id: values.get(correlationKey) } });
}
