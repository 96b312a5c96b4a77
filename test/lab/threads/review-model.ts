import type { ModelAct } from "../../fakes/model-script.ts";
import type { ModelRequest } from "../../fakes/model-wire.ts";
import { type ModelReply, threadModel } from "../../support/threads/thread-model.ts";

type Model = (request: ModelRequest) => ModelAct;

/** A killed server is back within this many tool calls. */
const MAX_AGAIN = 300;
const AWAY = /-32000|UNAVAILABLE/;
const BY_HAND = /^(review|fix|look again at) change (\d+)\b/;

/** The words that mark an agent's answer for a person who carries the texts. */
export const SAYS = { review: "found", fix: "fixed", "look again at": "resolved" } as const;

export const REVIEWS: ModelReply = ({ kind, event_type: event, text, message_id }) => {
  const finding = { event_type: "finding_reported", metadata: { path: "src/cart.ts", line: 42 }, to_role: ["fixer"] };
  if (kind === "chat") return { ...finding, text: `total() is NaN: ${text}`, idempotency_key: message_id };
  if (event !== "fix_pushed") return undefined;
  return { event_type: "resolved", to: ["lead"], text: `looked again: ${text}`, idempotency_key: message_id };
};

export const FIXES: ModelReply = ({ event_type: event, text, message_id }) => {
  if (event !== "finding_reported") return undefined;
  const fix = { event_type: "fix_pushed", metadata: { commit: message_id, fixes: [message_id] } };
  return { ...fix, to_role: ["reviewer"], text: `fixed: ${text}`, idempotency_key: message_id };
};

/** An agent's model: takes part in threads, calls a tool again while the server is away, and answers a person. */
export function reviewModel(part: ModelReply): Model {
  const threads = threadModel(part);
  let last: ModelAct | undefined;
  let again = 0;
  return (request) => {
    if (request.afterTool && last?.type === "call" && AWAY.test(request.toolResult) && again < MAX_AGAIN) {
      again += 1;
      return last;
    }
    again = 0;
    last = request.afterTool ? threads(request) : (byHand(request.lastUserText) ?? threads(request));
    return last;
  };
}

function byHand(text: string): ModelAct | undefined {
  const [, verb, change] = BY_HAND.exec(text) ?? [];
  if (verb === undefined) return undefined;
  return { type: "say", text: `${SAYS[verb as keyof typeof SAYS]} in change ${change}` };
}
