import { expect, it } from "vitest";
import { TOOLS } from "./tools.ts";

/** Version 1 of the tools, which clients may rely on: needed fields, optional fields, and fields of the answer. */
const VERSION_1 = [
  ["create_thread", "title", "participants owner metadata idempotency_key", "thread"],
  ["get_thread", "thread_id", "", "thread participants unread_count last_seen_seq"],
  ["list_threads", "", "status unread_only owner limit cursor", "threads next_cursor unread_total"],
  [
    "post_message",
    "thread_id text",
    "to to_role in_reply_to event_type event_version metadata urgency idempotency_key ack_seq",
    "message_id seq duplicate recipients thread_status",
  ],
  [
    "read_messages",
    "",
    "thread_id after_seq limit wait_ms sender event_type ack_seq",
    "messages next_after_seq last_seq unread_count last_seen_seq thread_status timed_out",
  ],
  ["ack_read", "thread_id seq", "", "last_seen_seq unread_count"],
  ["update_thread_status", "thread_id expected_version", "status reason disputed needs_human_decision owner", "thread"],
  ["summarize_thread", "thread_id", "max_bytes text covers_seq", "text covers_seq open_findings decisions by"],
  ["search_messages", "", "query thread_id sender event_type status since until limit cursor", "hits next_cursor"],
  ["escalate_thread", "thread_id reason severity", "owner", "escalation_id owner context"],
  ["manage_participants", "thread_id", "add remove wake", "participants"],
  ["heartbeat_session", "", "agent_session_id", "session_id managed state unread_total server_time"],
  ["trigger_participant", "thread_id agent_id reason", "force", "wake_id state outcome blocked_by"],
  ["whoami", "", "", "agent_id role kind workspace_id session_id managed expires_at api_version limits"],
] as const;

it.each(VERSION_1)("F19: %s still accepts and returns its former fields", (name, needs, takes, answers) => {
  const words = (text: string) => text.split(" ").filter((word) => word !== "");
  const tool = TOOLS.find((one) => one.name === name);
  expect([...(tool?.required ?? [])].toSorted()).toEqual(words(needs).toSorted());
  expect(Object.keys(tool?.fields ?? {})).toEqual(expect.arrayContaining([...words(needs), ...words(takes)]));
  expect(Object.keys(tool?.output["properties"] ?? {})).toEqual(expect.arrayContaining(words(answers)));
});
