import type { Msg } from "@nats-io/transport-node";
import type { Task } from "../../base/task-group.ts";
import { isObject, member, readJson } from "../acp/json-text.ts";
import { type KeepSubscribedDeps, keepSubscribed } from "../nats/keep-subscribed.ts";
import { subjects } from "../nats/subjects.ts";

interface Approval {
  readonly sessionId: string;
  isOpen: boolean;
  /** The answers that came while the approval was open, as texts. */
  seen: string[];
  /** The answer that decided and has not been seen on the subject yet; undefined: no such answer. */
  decidedBy: string | undefined;
}

/** An answer that had no effect. */
export interface StaleAnswer {
  readonly sessionId: string;
  readonly approvalId: string;
  /** The answer's own id; undefined: it has none. */
  readonly id: string | undefined;
}

const MOST_APPROVALS = 1024;
const MOST_ANSWERS = 100;

/** Reports answers to this relay's approvals that had no effect. Remembers the latest 1,024 approvals. */
export class LateAnswers implements Task {
  readonly #deps: KeepSubscribedDeps;
  readonly #onStale: (answer: StaleAnswer) => void;
  readonly #approvals = new Map<string, Approval>();

  constructor(deps: KeepSubscribedDeps, onStale: (answer: StaleAnswer) => void) {
    this.#deps = deps;
    this.#onStale = onStale;
  }

  /** @throws DomainError `denied` if NATS refuses the subscription */
  async run(signal: AbortSignal): Promise<void> {
    const onMessage = (message: Msg) => this.came(message.subject.split(".")[1] ?? "", message.string());
    await keepSubscribed(this.#deps, { subject: subjects.approvals("*"), onMessage }, signal);
  }

  opened(sessionId: string, approvalId: string): void {
    this.#approvals.set(approvalId, { sessionId, isOpen: true, seen: [], decidedBy: undefined });
    const oldest = this.#approvals.keys().next();
    if (this.#approvals.size > MOST_APPROVALS && oldest.done !== true) this.#approvals.delete(oldest.value);
  }

  /** `by`: the text of the message that decided; undefined: the timeout or the turn's end decided. */
  decided(approvalId: string, by: string | undefined): void {
    const approval = this.#approvals.get(approvalId);
    if (approval === undefined) return;
    const { seen } = approval;
    const at = by === undefined ? -1 : seen.indexOf(by);
    approval.isOpen = false;
    approval.seen = [];
    approval.decidedBy = at < 0 ? by : undefined;
    for (const text of seen.filter((_, index) => index !== at)) this.#stale(approval, approvalId, text);
  }

  /** Takes a message from a session's approvals. */
  came(sessionId: string, text: string): void {
    const approvalId = answeredApproval(text);
    const approval = approvalId === undefined ? undefined : this.#approvals.get(approvalId);
    if (approval === undefined || approvalId === undefined || approval.sessionId !== sessionId) return;
    if (approval.isOpen) {
      if (approval.seen.length < MOST_ANSWERS) approval.seen.push(text);
      return;
    }
    if (approval.decidedBy === text) approval.decidedBy = undefined;
    else this.#stale(approval, approvalId, text);
  }

  #stale({ sessionId }: Approval, approvalId: string, text: string): void {
    const message = readJson(text);
    const id = isObject(message) ? member(message, "id") : undefined;
    this.#onStale({ sessionId, approvalId, id: typeof id === "string" ? id : undefined });
  }
}

function answeredApproval(text: string): string | undefined {
  const message = readJson(text);
  const type = isObject(message) ? member(message, "type") : undefined;
  if (!isObject(message) || (type !== "approval.granted" && type !== "approval.rejected")) return undefined;
  const payload = member(message, "payload");
  const id = isObject(payload) ? member(payload, "approval_id") : undefined;
  return typeof id === "string" ? id : undefined;
}
