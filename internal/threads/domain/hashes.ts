import { createHash } from "node:crypto";
import type { AuditEntry, Message, Metadata } from "./types.ts";

/**
 * JSON with sorted keys, so that equal values have equal texts.
 * @internal
 */
export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) => {
    if (typeof one !== "object" || one === null || Array.isArray(one)) return one;
    return Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
  });
}

/** Hex SHA-256 of a message's text and metadata, the part that retention may erase. */
export function bodyHash(text: string, metadata: Metadata | undefined): string {
  return sha256(sortedJson([text, metadata ?? null]));
}

/** Hex SHA-256 of a request, to compare two requests with the same idempotency key. */
export function payloadHash(payload: unknown): string {
  return sha256(sortedJson(payload));
}

type HashedMessage = Omit<Message, "text" | "metadata" | "erased">;

/**
 * Hex SHA-256 of a message in its thread's chain: over the hash of the message before it, its own fields, and `body`,
 * its `bodyHash`.
 */
export function messageHash(prevHash: string, message: HashedMessage, body: string): string {
  const m = message;
  const fields = [
    ...[m.threadId, m.seq, m.messageId, m.sender, m.senderRole, m.senderKind, m.senderSession, m.kind],
    ...[m.eventType ?? null, m.eventVersion ?? null, m.inReplyTo ?? null],
    ...[m.to ?? null, m.toRole ?? null, m.recipients ?? null, m.urgency, m.hop, m.createdAt],
  ];
  return sha256(`${prevHash}\n${JSON.stringify(fields)}\n${body}`);
}

/** Hex SHA-256 of an audit entry in its workspace's chain: over the hash of the entry before it and its own fields. */
export function auditHash(prevHash: string, entry: AuditEntry): string {
  const { seq, at, actor, actorSession, action, threadId, correlationId, detail } = entry;
  const fields = [seq, at, actor, actorSession, action, threadId ?? null, correlationId];
  return sha256(`${prevHash}\n${JSON.stringify(fields)}\n${sortedJson(detail)}`);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
