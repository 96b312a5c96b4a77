/** The part that an agent plays in a thread: it reviews, or it fixes. */
export type Part = "review" | "fix";

/** A message from `read_messages`, with the fields that the parts use. */
export interface Heard {
  readonly thread_id: string;
  readonly message_id: string;
  readonly seq: number;
  readonly text: string;
  readonly kind: string;
  readonly event_type?: string;
}

/** A message to post. */
export interface Said {
  readonly thread_id: string;
  readonly text: string;
  readonly event_type?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly in_reply_to?: string;
  readonly to_role?: readonly string[];
  readonly ack_seq: number;
  readonly idempotency_key: string;
}

/**
 * The scripted reply of an agent to one message: a reviewer reports one finding to the fixers, and resolves it when
 * asked for another look; a fixer pushes a fix for each finding, and asks the reviewers for another look.
 */
export function answerTo(part: Part, heard: Heard): readonly Said[] {
  const about = {
    thread_id: heard.thread_id,
    in_reply_to: heard.message_id,
    ack_seq: heard.seq,
  };
  const key = (what: string) => ({ idempotency_key: `${what}-${heard.message_id}` });
  if (part === "fix") {
    if (heard.event_type !== "finding_reported") return [];
    const commit = heard.message_id.replace(/^m-/, "").slice(0, 8);
    const fix = { event_type: "fix_pushed", metadata: { commit, fixes: [heard.message_id] } };
    return [
      { ...about, ...key("fix"), ...fix, text: `fixed: ${heard.text}` },
      {
        ...about,
        ...key("again"),
        event_type: "re_review_requested",
        text: `please look at ${commit}`,
        to_role: ["reviewer"],
      },
    ];
  }
  if (heard.event_type === "re_review_requested") {
    return [{ ...about, ...key("resolved"), event_type: "resolved", text: "the fix is right: nothing is open" }];
  }
  if (heard.kind !== "chat") return [];
  const finding = { event_type: "finding_reported", metadata: { path: "src/cart.ts", line: 42, severity: "high" } };
  return [
    { ...about, ...key("finding"), ...finding, text: "total() returns NaN for an empty cart", to_role: ["fixer"] },
  ];
}
