import { isList, isObject, type Json, member, writeJson } from "./json-text.ts";
import type { ChatMessage } from "./user-message.ts";

/** One exchange: what was sent of the user's, and what the assistant answered. */
export interface Exchange {
  readonly user: readonly ChatMessage[];
  /** Undefined: the agent failed; the conversation goes on without an answer there. */
  readonly assistant: Json | undefined;
}

/** Bytes of a conversation that the lane's log keeps. */
export const MAX_CONVERSATION_BYTES = 256 * 1024;

/** The messages of a conversation so far. */
export function messagesOf(exchanges: readonly Exchange[]): readonly ChatMessage[] {
  return exchanges.flatMap(({ user, assistant }) =>
    assistant === undefined ? user : [...user, { role: "assistant", content: assistant }],
  );
}

export interface Bounded {
  readonly exchanges: readonly Exchange[];
  /** Exchanges that were left out. */
  readonly left: number;
}

/**
 * The conversation within `maxBytes`: the oldest exchange goes whole, and with it those that answer its tools, so that
 * a tool's result never stands without its use. The last exchange always stays.
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
