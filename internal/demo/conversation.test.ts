import { expect, it } from "vitest";
import { answerTo, type Heard } from "./conversation.ts";

const heard = (more: Partial<Heard>): Heard => ({
  ...{ thread_id: "t-1", message_id: "m-abcdefghij", seq: 3, text: "hello", kind: "chat" },
  ...more,
});

it.each([
  ["review", heard({}), ["finding_reported"]],
  ["review", heard({ kind: "event", event_type: "re_review_requested" }), ["resolved"]],
  ["review", heard({ kind: "event", event_type: "fix_pushed" }), []],
  ["fix", heard({ kind: "event", event_type: "finding_reported" }), ["fix_pushed", "re_review_requested"]],
  ["fix", heard({ kind: "event", event_type: "resolved" }), []],
  ["fix", heard({}), []],
] as const)("the part %s answers %j", (part, message, wanted) => {
  const said = answerTo(part, message);
  expect(said.map((one) => one.event_type)).toEqual(wanted);
  for (const one of said) expect(one).toMatchObject({ thread_id: "t-1", ack_seq: 3 });
});

it("gives the same answer to the same message, and stores nothing twice", () => {
  const message = heard({ kind: "event", event_type: "finding_reported" });
  expect(answerTo("fix", message)).toEqual(answerTo("fix", message));
});
