import { asObjects, type Json } from "../../../../internal/base/json-fields.ts";
import type { CallOperation } from "./with-threads.ts";

const PAGE = 200;
const MAX_PAGES = 500;

/** Reads the messages of a thread after a seq, in order; at most 100,000. */
export async function allMessages(call: CallOperation, threadId: string, after = 0): Promise<readonly Json[]> {
  const all: Json[] = [];
  let afterSeq = after;
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = await call("read_messages", { thread_id: threadId, after_seq: afterSeq, limit: PAGE });
    const messages = asObjects(answer["messages"]);
    all.push(...messages);
    afterSeq = Number(answer["next_after_seq"]);
    if (messages.length < PAGE) break;
  }
  return all;
}
