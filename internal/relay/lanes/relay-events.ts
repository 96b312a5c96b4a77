import { writeJson } from "../acp/json-text.ts";
import type { Outbox } from "../nats/outbox.ts";
import { subjects } from "../nats/subjects.ts";

/** What a session's subscribers are told on `sessions.{sid}.events`. */
export type RelayEventType =
  | "agent.connected"
  | "agent.disconnected"
  | "agent.superseded"
  | "work.rejected"
  | "work.duplicate"
  | "work.uncertain"
  | "transcript.truncated"
  | "approval.expired"
  | "approval.withdrawn"
  | "approval.stale"
  | "outbox.overflow";

/** Publishes a session's events, each stored once, behind the outbox. */
export class RelayEvents {
  readonly #outbox: Outbox;
  readonly #newId: () => string;

  constructor(outbox: Outbox, newId: () => string) {
    this.#outbox = outbox;
    this.#newId = newId;
  }

  publish(sessionId: string, type: RelayEventType, payload: Readonly<Record<string, unknown>>): void {
    const id = this.#newId();
    const body = writeJson({ id, session_id: sessionId, type, payload });
    this.#outbox.offer({ subject: subjects.events(sessionId), body, msgId: id });
  }
}
