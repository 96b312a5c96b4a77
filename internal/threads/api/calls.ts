import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { isRetryable, type ThreadsCode, threadsCodeOf, threadsError } from "../domain/faults.ts";
import type { Principal } from "../domain/types.ts";
import type { ServiceDeps } from "../service/access.ts";
import { watchThreads } from "../service/watch.ts";
import type { ThreadsUpdate, WatchInput } from "../service/wire.ts";
import type { Proof } from "./claims.ts";
import { checkFields, requireObject } from "./fields.ts";
import type { TokenHolds } from "./holds.ts";
import type { ThreadsMetrics } from "./threads-metrics.ts";
import type { Tool } from "./tools.ts";

export interface CallDeps {
  readonly service: ServiceDeps;
  readonly holds: TokenHolds;
  readonly logger: Logger;
  /** Counts calls. Default: nothing is counted. */
  readonly metrics?: Pick<ThreadsMetrics, "began" | "refused">;
  /** Monotonic, ms. */
  readonly monotonicMs: () => number;
}

/** Names of claims, and the caller's value of each. A payload may repeat a claim, but not contradict it. */
const IDENTITY: Readonly<Record<string, (caller: Principal) => string>> = {
  agent_id: (caller) => caller.agent,
  sender: (caller) => caller.agent,
  from: (caller) => caller.agent,
  role: (caller) => caller.role,
  session_id: (caller) => caller.session,
  workspace_id: (caller) => caller.workspace,
  project_id: (caller) => caller.workspace,
};

const AUDITED: ReadonlySet<ThreadsCode> = new Set([
  ...(["CLAIM_MISMATCH", "OUT_OF_SCOPE_WORKSPACE", "FORBIDDEN", "INSUFFICIENT_AUTHORITY"] as const),
]);
const AUDIT_EVERY_MS = 1000;
const MAX_REMEMBERED = 10_000;

/** Runs operations for callers whose tokens have been verified: checks the input, and audits refusals. */
export class OperationCalls {
  readonly #deps: CallDeps;
  readonly #audited = new Map<string, number>();

  constructor(deps: CallDeps) {
    this.#deps = deps;
  }

  /**
   * Runs one operation.
   * @throws DomainError with an error code in the field `code`; UNAUTHORIZED also if the token ends during the call
   */
  async call(tool: Tool, proof: Proof, correlationId: string, input: unknown, signal: AbortSignal): Promise<object> {
    const caller: Principal = { ...proof, correlationId };
    const ended = this.#deps.metrics?.began(tool.name, input);
    try {
      this.#deps.holds.check(proof);
      const given = withoutIdentity(requireObject(input, ""), tool, caller);
      checkFields(given, tool.fields, tool.required, "");
      const over = new AbortController();
      using _held = this.#deps.holds.hold(proof, (why) => over.abort(why));
      const all = AbortSignal.any([signal, over.signal]);
      if (tool.name !== "heartbeat_session") await this.#deps.service.store.seen(caller);
      const answer = await tool.run(this.#deps.service, caller, given as never, all);
      ended?.(answer);
      return answer;
    } catch (err) {
      ended?.(err instanceof DomainError ? threadsCodeOf(err) : "internal");
      await this.#keep(err, tool, caller);
      throw err;
    }
  }

  /** Yields the state that the caller may see, then each change of it, until the signal aborts. @throws as `call` */
  async *watch(
    proof: Proof,
    correlationId: string,
    input: WatchInput,
    signal: AbortSignal,
  ): AsyncGenerator<ThreadsUpdate, void, undefined> {
    const { holds, service, metrics } = this.#deps;
    const caller: Principal = { ...proof, correlationId };
    try {
      holds.check(proof);
      await service.store.seen(caller);
      yield* watchThreads(service, caller, input, signal);
      if (signal.reason instanceof DomainError) throw signal.reason;
    } catch (err) {
      if (err instanceof DomainError && threadsCodeOf(err) === "UNAUTHORIZED") metrics?.refused("UNAUTHORIZED");
      throw err;
    }
  }

  /** Audits a refusal, at most once a second for each caller and code. */
  async #keep(err: unknown, tool: Tool, caller: Principal): Promise<void> {
    if (!(err instanceof DomainError)) return;
    const code = threadsCodeOf(err);
    if (code === "UNAUTHORIZED" || AUDITED.has(code)) this.#deps.metrics?.refused(code);
    if (!AUDITED.has(code)) return;
    const key = JSON.stringify([caller.workspace, caller.agent, code]);
    const now = this.#deps.monotonicMs();
    if ((this.#audited.get(key) ?? Number.NEGATIVE_INFINITY) > now - AUDIT_EVERY_MS) return;
    this.#audited.delete(key);
    this.#audited.set(key, now);
    for (const [oldest] of this.#audited) {
      if (this.#audited.size <= MAX_REMEMBERED) break;
      this.#audited.delete(oldest);
    }
    const { agent: actor, session: actorSession, correlationId, workspace } = caller;
    const detail = { code, operation: tool.name };
    await this.#deps.service.store
      .write(workspace, (tx) => tx.audit({ actor, actorSession, action: "refused", correlationId, detail }))
      .catch((failed: unknown) => this.#deps.logger.warn({ err: failed }, "a refusal could not be audited"));
  }
}

/**
 * Removes claims that are not fields of the tool from the input.
 * @throws DomainError `denied` for a claim that differs from the token's
 */
function withoutIdentity(
  input: Readonly<Record<string, unknown>>,
  tool: Tool,
  caller: Principal,
): Readonly<Record<string, unknown>> {
  const rest: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(input)) {
    const claim = Object.hasOwn(IDENTITY, name) && !Object.hasOwn(tool.fields, name) ? IDENTITY[name] : undefined;
    if (claim === undefined) rest[name] = value;
    else if (value !== claim(caller)) throw mismatch(name);
  }
  return rest;
}

function mismatch(name: string): DomainError {
  if (name === "workspace_id" || name === "project_id") {
    return threadsError("OUT_OF_SCOPE_WORKSPACE", `${name} is not the workspace of the token`, { claim: name });
  }
  return threadsError("CLAIM_MISMATCH", `${name} is not what the token says`, {
    claim: name,
    hint: "leave it out: who calls is what the token says",
  });
}

/** The body of an error for callers. An error that is not a DomainError becomes `internal error`, without its text. */
export function errorBody(err: unknown) {
  const known = err instanceof DomainError ? err : threadsError("UNAVAILABLE", "internal error");
  const code = threadsCodeOf(known);
  const { code: _code, ...details } = known.fields;
  return { error: { code, message: known.message, retryable: isRetryable(code), details } };
}
