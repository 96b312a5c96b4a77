import { expect, it } from "vitest";
import type { KeepSubscribedDeps } from "../nats/keep-subscribed.ts";
import { LateAnswers } from "./late-answers.ts";

const answer = (id: string, approval = "a1", type = "approval.granted") =>
  JSON.stringify({ id, type, payload: { approval_id: approval } });

function watch() {
  const stale: (string | undefined)[] = [];
  const answers = new LateAnswers({} as KeepSubscribedDeps, ({ id }) => void stale.push(id));
  answers.opened("s1", "a1");
  return { answers, stale };
}

it("does not count the deciding answer as late, whether it is seen before or after the decision", () => {
  const { answers, stale } = watch();
  answers.came("s1", answer("first"));
  answers.came("s1", answer("second"));
  answers.decided("a1", answer("first"));
  expect(stale).toEqual(["second"]);

  answers.opened("s1", "a2");
  answers.decided("a2", answer("first", "a2"));
  answers.came("s1", answer("first", "a2"));
  expect(stale).toEqual(["second"]);
  answers.came("s1", answer("third", "a2", "approval.rejected"));
  expect(stale).toEqual(["second", "third"]);
});

it("finds every answer late if the timeout decided", () => {
  const { answers, stale } = watch();
  answers.decided("a1", undefined);
  answers.came("s1", answer("late"));
  expect(stale).toEqual(["late"]);
});

it("skips answers to approvals of other relays and sessions", () => {
  const { answers, stale } = watch();
  answers.decided("a1", undefined);
  answers.came("s2", answer("of another session"));
  answers.came("s1", answer("unknown", "a9"));
  answers.came("s1", answer("a request", "a1", "approval.requested"));
  answers.came("s1", "no JSON");
  expect(stale).toEqual([]);
});
