import { writeJson } from "../acp/json-text.ts";
import type { Outbox } from "../nats/outbox.ts";
import { subjects } from "../nats/subjects.ts";

/** The types of events on `sessions.{sid}.events`. */
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

/** The most sessions whose lost events are counted, which suffices unless NATS is away for long. */
const MOST_SESSIONS = 4096;

/**
 * Publishes a session's events through the outbox; each is stored once. Events that find no room are lost; the event
 * `outbox.overflow {messages}` replaces them.
 */
export class RelayEvents {
  readonly #outbox: Pick<Outbox, "offer" | "isFull" | "changes">;
  readonly #newId: () => string;
  readonly #lost = new Map<string, number>();

  constructor(outbox: Pick<Outbox, "offer" | "isFull" | "changes">, newId: () => string) {
    this.#outbox = outbox;
    this.#newId = newId;
    outbox.changes.listen(() => this.#nameLost());
  }

  publish(sessionId: string, type: RelayEventType, payload: Readonly<Record<string, unknown>>): void {
    if (this.#lost.has(sessionId)) this.#nameLostOf(sessionId);
    const lost = this.#lost.get(sessionId);
    if (lost === undefined && this.#offer(sessionId, type, payload)) return;
    if (lost !== undefined || this.#lost.size < MOST_SESSIONS) this.#lost.set(sessionId, (lost ?? 0) + 1);
  }

  #nameLost(): void {
    if (this.#outbox.isFull) return;
    for (const sessionId of this.#lost.keys()) this.#nameLostOf(sessionId);
  }

  #nameLostOf(sessionId: string): void {
    const messages = this.#lost.get(sessionId);
    if (this.#offer(sessionId, "outbox.overflow", { messages })) this.#lost.delete(sessionId);
  }

  #offer(sessionId: string, type: RelayEventType, payload: Readonly<Record<string, unknown>>): boolean {
    const id = this.#newId();
    const body = writeJson({ id, session_id: sessionId, type, payload });
    return this.#outbox.offer({ subject: subjects.events(sessionId), body, msgId: id });
  }
}
