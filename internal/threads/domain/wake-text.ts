import { oneLine } from "../../base/sanitise.ts";

export interface WaitingThread {
  readonly threadId: string;
  readonly title: string;
  /** The number of messages that wait. */
  readonly count: number;
  /** The seq of the newest of these messages. */
  readonly upto: number;
  readonly last: { readonly sender: string; readonly eventType?: string | undefined; readonly text: string };
}

const MAX_BYTES = 400;
const TITLE = 60;
const QUOTE = 120;

/**
 * The line that a wake types: the number of waiting messages, the newest one and how to read them, in at most 400 bytes
 * of plain characters.
 */
export function pointerText(requestId: string, waiting: readonly WaitingThread[]): string {
  const [first] = waiting;
  if (first === undefined) return "";
  const count = waiting.reduce((sum, one) => sum + one.count, 0);
  const more = waiting.length > 1 ? ` and ${waiting.length - 1} other thread${waiting.length > 2 ? "s" : ""}` : "";
  const read = waiting.length > 1 ? "gt threads inbox" : `gt threads read ${first.threadId}`;
  for (let quote = QUOTE, title = TITLE; ; quote = Math.floor(quote / 2), title = Math.max(8, Math.floor(title / 2))) {
    const text =
      `[threads ${requestId}] ${count} new in ${quoted(first.title, title)} (${first.threadId})${more}, ` +
      `last from ${clean(first.last.sender, 64)}: ${first.last.eventType ?? "message"} ${quoted(first.last.text, quote)}. ` +
      `Tool read_messages, or: ${read}`;
    if (Buffer.byteLength(text) <= MAX_BYTES) return text;
    if (quote === 0) return `[threads ${requestId}] ${count} new in ${first.threadId}. Tool read_messages, or: ${read}`;
  }
}

/**
 * The first text of a session that continues an agent's work without its conversation: the pointer, then a digest of
 * each thread, in plain lines.
 */
export function summaryText(
  requestId: string,
  waiting: readonly WaitingThread[],
  agent: string,
  digests: readonly string[],
): string {
  const head = `You continue the work of ${clean(agent, 128)}, whose last session has ended. Its threads, in short:`;
  const lines = digests.flatMap((one) => one.split("\n")).map((one) => clean(one, 2000));
  return [pointerText(requestId, waiting), "", head, ...lines].join("\n");
}

/** Quotes a text as one line of at most `max` plain characters, which cannot close the quotes. */
function quoted(text: string, max: number): string {
  return `"${clean(text, max)}"`;
}

function clean(text: string, max: number): string {
  const plain = oneLine(text)
    .replace(/["“”]/gu, "'")
    .replace(/[[\]<>`$\\]/gu, " ")
    .replace(/\s+/gu, " ")
    .trim();
  const characters = [...plain];
  return characters.length <= max ? plain : `${characters.slice(0, Math.max(0, max - 1)).join("")}…`;
}
