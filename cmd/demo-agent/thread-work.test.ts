import { expect, it, vi } from "vitest";
import { DomainError } from "../../internal/base/errors.ts";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { ThreadWork } from "./thread-work.ts";

const finding = { thread_id: "t-1", message_id: "m-abcdefghij", seq: 3, text: "x", kind: "event" };

/** A fixer that was woken because of one finding. `fails`: the error of the n-th call, counted from 0. */
function woken(fails: (n: number) => Error | undefined) {
  const clock = new FakeClock();
  const calls: string[] = [];
  let unread = [{ ...finding, event_type: "finding_reported" }];
  const call = async (name: string, input: object) => {
    const err = fails(calls.length);
    calls.push("event_type" in input ? String(input.event_type) : name);
    if (err !== undefined) throw err;
    const messages = unread;
    if (name !== "read_messages") unread = []; // a post acknowledges, too
    return { messages };
  };
  const outside = { took() {}, tool() {}, hook() {} };
  const work = new ThreadWork(outside, "fix", { call, clock, signal: new AbortController().signal });
  work.took("[threads w-1] 1 new", "direct", 0);
  return { calls, clock, work };
}

it("repeats a post that failed, although its other post has acknowledged the message", async () => {
  const { calls, clock } = woken((n) => (n >= 2 && n < 5 ? new DomainError("unavailable", "killed") : undefined));
  await vi.waitFor(() => expect(clock.sleeping).toBe(1));
  await clock.advance(1500);
  const again = "re_review_requested";
  expect(calls).toEqual(["read_messages", "fix_pushed", again, again, again, again, "ack_read"]);
  expect(clock.sleeping).toBe(0);
});

it("leaves a post that the server refuses, and works again when it is woken again", async () => {
  const { calls, clock, work } = woken((n) => (n === 1 ? new DomainError("precondition", "resolved") : undefined));
  await vi.waitFor(() => expect(calls).toEqual(["read_messages", "fix_pushed"]));
  work.took("[threads w-2] 1 new", "direct", 0);
  await vi.waitFor(() => expect(calls.at(-1)).toBe("ack_read"));
  expect([calls.slice(2), clock.sleeping]).toEqual([
    ["read_messages", "fix_pushed", "re_review_requested", "ack_read"],
    0,
  ]);
});

it("gives up after two minutes", async () => {
  const { calls, clock } = woken(() => new DomainError("unavailable", "killed"));
  await vi.waitFor(() => expect(clock.sleeping).toBe(1));
  await clock.advance(300_000);
  expect([calls.length, clock.sleeping]).toEqual([240, 0]);
});
