import { timedCall } from "../../base/abort.ts";
import { type ExactJson, isObject, member, readJson, writeJson } from "../acp/json-text.ts";
import { outcomeOf, type PermissionDecision, type PermissionOutcome } from "../acp/permission-choice.ts";
import { publishStored } from "../nats/publish.ts";
import { type LaneName, subjects } from "../nats/subjects.ts";
import { tailStream } from "../nats/tail-stream.ts";
import { rejectDecision } from "./dead-letters.ts";
import type { LaneDeps } from "./lane-deps.ts";
import { LateAnswers } from "./late-answers.ts";

/** An agent's request for permission. */
export interface PermissionRequest {
  readonly workId: string;
  readonly toolCall: ExactJson | undefined;
  readonly options: ExactJson | undefined;
}

interface PermissionPolicy {
  readonly timeoutMs: number;
  readonly mode: "ask" | "deny" | "allow_reads";
}

/**
 * Decides by policy, or asks on the session's subject of approvals: the first answer decides, and without an answer in
 * time the permission is denied.
 */
export class Permissions {
  readonly #deps: LaneDeps;
  readonly #policy: PermissionPolicy;
  readonly #newId: () => string;
  readonly #answers: LateAnswers;

  constructor(deps: LaneDeps, policy: PermissionPolicy, newId: () => string) {
    this.#deps = deps;
    this.#answers = new LateAnswers(deps, ({ sessionId, approvalId, id }) => {
      deps.events.publish(sessionId, "approval.stale", { approval_id: approvalId, id });
    });
    this.#policy = policy;
    this.#newId = newId;
  }

  /** Reports late answers until the signal. */
  run(signal: AbortSignal): Promise<void> {
    return this.#answers.run(signal);
  }

  async ask(lane: LaneName, request: PermissionRequest, signal: AbortSignal): Promise<PermissionOutcome> {
    const { logger, metrics } = this.#deps;
    const decision = this.#byPolicy(request) ?? (await this.#fromPeople(lane, request, signal));
    const outcome = outcomeOf(request.options, decision);
    const fields = { session_id: lane.sessionId, role: lane.role, id: request.workId, decision: decision.type };
    metrics.permissions.inc({ outcome: decision.type });
    logger.info({ action: "permission", ...fields }, "a permission was decided");
    return outcome;
  }

  #byPolicy({ toolCall }: PermissionRequest): PermissionDecision | undefined {
    if (this.#policy.mode === "deny") return { type: "denied" };
    const kind = isObject(toolCall) ? member(toolCall, "kind") : undefined;
    const isRead = kind === "read" || kind === "search";
    return this.#policy.mode === "allow_reads" && isRead ? { type: "granted", optionId: undefined } : undefined;
  }

  async #fromPeople(lane: LaneName, request: PermissionRequest, signal: AbortSignal): Promise<PermissionDecision> {
    const { clock, events } = this.#deps;
    const { timeoutMs } = this.#policy;
    const approvalId = this.#newId();
    this.#answers.opened(lane.sessionId, approvalId);
    const answer = (stop: AbortSignal) => this.#answered(lane, request, approvalId, stop);
    try {
      const { decision, text } = await timedCall(clock, { ms: timeoutMs, what: "the permission" }, signal, answer);
      this.#answers.decided(approvalId, text);
      return decision;
    } catch {
      this.#answers.decided(approvalId, undefined);
      const payload = { approval_id: approvalId, work_id: request.workId, role: lane.role };
      events.publish(lane.sessionId, signal.aborted ? "approval.withdrawn" : "approval.expired", payload);
      return { type: "denied" };
    }
  }

  async #answered(
    lane: LaneName,
    request: PermissionRequest,
    approvalId: string,
    signal: AbortSignal,
  ): Promise<{ readonly decision: PermissionDecision; readonly text: string }> {
    const { bus, clock, signers } = this.#deps;
    const subject = subjects.approvals(lane.sessionId);
    const payload = {
      ...{ approval_id: approvalId, work_id: request.workId, role: lane.role },
      ...{ tool_call: request.toolCall ?? null, options: request.options ?? [] },
      expires_at: new Date(clock.now() + this.#policy.timeoutMs).toISOString(),
    };
    const body = writeJson({ id: approvalId, session_id: lane.sessionId, type: "approval.requested", payload });
    const { seq } = await publishStored(this.#deps, { subject, body, msgId: approvalId }, signal);
    const place = { stream: bus.streams.events, subject, from: seq + 1 };
    for await (const message of tailStream(this.#deps, place, signal)) {
      const text = new TextDecoder().decode(message.data);
      const decision = decisionIn(readJson(text), approvalId);
      if (decision === undefined) continue;
      if (signers?.hasSigned(message) ?? true) return { decision, text };
      await rejectDecision(this.#deps, lane, message, signal);
    }
    throw signal.reason;
  }
}

function decisionIn(message: ExactJson | undefined, approvalId: string): PermissionDecision | undefined {
  const payload = isObject(message) ? member(message, "payload") : undefined;
  if (!isObject(message) || !isObject(payload) || member(payload, "approval_id") !== approvalId) return undefined;
  const optionId = member(payload, "option_id");
  switch (member(message, "type")) {
    case "approval.granted":
      return { type: "granted", optionId: typeof optionId === "string" ? optionId : undefined };
    case "approval.rejected":
      return { type: "denied" };
    default:
      return undefined;
  }
}
