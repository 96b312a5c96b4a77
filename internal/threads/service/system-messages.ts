import { newId } from "../domain/ids.ts";
import type { Tx } from "../domain/store.ts";
import type { Message, Metadata } from "../domain/types.ts";

/**
 * Appends a system message. Readers get it among the others, but it never counts as unread and wakes only the agents in
 * `wakes`.
 */
export function appendSystemMessage(
  tx: Tx,
  threadId: string,
  eventType: string,
  text: string,
  metadata: Metadata,
  wakes: readonly string[] = [],
): Promise<Message> {
  return tx.append({
    threadId,
    messageId: newId("m"),
    sender: "system",
    senderRole: "system",
    senderKind: "system",
    senderSession: "",
    kind: "system",
    eventType,
    eventVersion: 1,
    text,
    metadata,
    urgency: wakes.length === 0 ? "quiet" : "urgent",
    hop: 0,
    recipients: wakes.length > 0 ? wakes : undefined,
  });
}
