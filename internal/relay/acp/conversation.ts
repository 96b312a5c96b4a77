import { type ExactJson, isList, isObject, member, writeJson } from "./json-text.ts";
import type { ChatMessage } from "./user-message.ts";

/** The user's messages of one turn, and the assistant's content that answered them. */
export interface Exchange {
  readonly user: readonly ChatMessage[];
  /** Undefined: the agent failed. The conversation goes on without an answer here. */
  readonly assistant: ExactJson | undefined;
}

/** The longest conversation that a lane's log keeps, in bytes of JSON. */
export const MAX_CONVERSATION_BYTES = 256 * 1024;

/** All messages of a conversation, the oldest first. */
export function messagesOf(exchanges: readonly Exchange[]): readonly ChatMessage[] {
  return exchanges.flatMap(({ user, assistant }) =>
    assistant === undefined ? user : [...user, { role: "assistant", content: assistant }],
  );
}

export interface Bounded {
  readonly exchanges: readonly Exchange[];
  /** The number of exchanges that were dropped. */
  readonly left: number;
}

/**
 * Drops the oldest exchanges until the rest fits into `maxBytes`, and with each the exchanges that answer its tools, so
 * that no tool result stands without the tool use that it answers. Keeps the last exchange, however long.
 */
export function boundConversation(exchanges: readonly Exchange[], maxBytes = MAX_CONVERSATION_BYTES): Bounded {
  const sizes = exchanges.map((exchange) => Buffer.byteLength(writeJson(exchange)));
  let bytes = sizes.reduce((sum, size) => sum + size, 0);
  let from = 0;
  const last = exchanges.length - 1;
  while (from < last && (bytes > maxBytes || (from > 0 && answersTool(exchanges[from])))) {
    bytes -= sizes[from] ?? 0;
    from++;
  }
  return { exchanges: exchanges.slice(from), left: from };
}

function answersTool(exchange: Exchange | undefined): boolean {
  return (exchange?.user ?? []).some((message) => {
    const content = member(message, "content");
    return isList(content) && content.some((block) => isObject(block) && member(block, "type") === "tool_result");
  });
}
