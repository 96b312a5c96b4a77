import { createHash } from "node:crypto";
import type { AuditEntry, Message, Metadata } from "./types.ts";

/**
 * JSON with sorted keys, so that one value has one text.
 * @internal
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) => {
    if (typeof one !== "object" || one === null || Array.isArray(one)) return one;
    return Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
  });
}

/** Hex SHA-256 of what a retention rule may erase. */
export function bodyHash(text: string, metadata: Metadata | undefined): string {
  return sha256(canonicalJson([text, metadata ?? null]));
}

/** Hex SHA-256 of a post as its sender made it, for comparing two with the same key. */
export function payloadHash(payload: unknown): string {
  return sha256(canonicalJson(payload));
}

type HashedMessage = Omit<Message, "text" | "metadata" | "erased">;

/** The link of a message in its thread's chain; everything but the body itself is in it, and the body's hash. */
export function messageHash(prevHash: string, message: HashedMessage, body: string): string {
  const m = message;
  const fields = [
    ...[m.threadId, m.seq, m.messageId, m.sender, m.senderRole, m.senderKind, m.senderSession, m.kind],
    ...[m.eventType ?? null, m.eventVersion ?? null, m.inReplyTo ?? null],
    ...[m.to ?? null, m.toRole ?? null, m.recipients ?? null, m.urgency, m.hop, m.createdAt],
  ];
  return sha256(`${prevHash}\n${JSON.stringify(fields)}\n${body}`);
}

/** The link of an audit row in its workspace's chain. */
export function auditHash(prevHash: string, entry: AuditEntry): string {
  const { seq, at, actor, actorSession, action, threadId, correlationId, detail } = entry;
  const fields = [seq, at, actor, actorSession, action, threadId ?? null, correlationId];
  return sha256(`${prevHash}\n${JSON.stringify(fields)}\n${canonicalJson(detail)}`);
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
