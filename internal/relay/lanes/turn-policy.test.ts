import { expect, it } from "vitest";
import type { WorkMessage } from "../acp/work-message.ts";
import type { Answered, Prompted } from "./lane-records.ts";
import { emptyLane, type LaneState } from "./lane-state.ts";
import { decideTurn } from "./turn-policy.ts";

const WORK: WorkMessage = { id: "1", type: "work.coding", payload: { task: "x" }, hash: "h" };
const LIMITS = {
  ...{ maxAttempts: 3, backoffMs: [0, 1000], workTtlMs: 60_000 },
  resends: (dialect: string) => dialect !== "acp",
  resumes: (dialect: string) => dialect === "bridge",
};
const prompted = (attempt: number, dialect: Prompted["dialect"] = "seed"): Partial<LaneState> => ({
  prompted: { t: "prompted", id: "1", hash: "h", work_seq: 1, attempt, dialect },
});
const answered = { id: "1", hash: "h" } as Answered;

it.each<[string, Partial<LaneState>, object]>([
  ["that is new: ask", {}, { type: "ask", attempt: 1, afterMs: 0 }],
  ["that is done: only acknowledge", { done: new Map([["1", "h"]]) }, { type: "duplicate" }],
  ["whose id belongs to other work: reject", { done: new Map([["1", "other"]]) }, { type: "id_reused" }],
  ["whose answer is recorded: publish it", { answered }, { type: "finish" }],
  ["whose id has another answer: reject", { answered: { ...answered, hash: "o" } }, { type: "id_reused" }],
  ["that was asked once: ask again at once", prompted(1), { type: "ask", attempt: 2, afterMs: 0 }],
  ["that was asked twice: wait, then ask again", prompted(2), { type: "ask", attempt: 3, afterMs: 1000 }],
  ["that was asked too often: give up", prompted(3), { type: "attempts" }],
  ["that an ACP agent was asked: uncertain", prompted(1, "acp"), { type: "uncertain" }],
  [
    "that was started in a bridge's session: continue the same attempt, however often it was tried",
    prompted(3, "bridge"),
    { type: "ask", attempt: 3, afterMs: 0, interrupted: { t: "prompted", attempt: 3 } },
  ],
  ["that was cancelled: no one is asked", { cancelled: new Map([["1", "ann"]]) }, { type: "cancelled", by: "ann" }],
  [
    "that was cancelled while an agent had it: cancelled",
    { ...prompted(1, "acp"), cancelled: new Map([["1", "ann"]]) },
    { type: "cancelled" },
  ],
  [
    "that was answered before it was cancelled: publish it",
    { answered, cancelled: new Map([["1", "a"]]) },
    { type: "finish" },
  ],
])("decides for work %s", (_what, state, decision) => {
  expect(decideTurn({ ...emptyLane, ...state }, WORK, LIMITS, 0)).toMatchObject(decision);
});

it("expires work that no agent was asked for in time, and no other work", () => {
  expect(decideTurn(emptyLane, WORK, LIMITS, 60_001)).toEqual({ type: "expired" });
  expect(decideTurn({ ...emptyLane, ...prompted(1) }, WORK, LIMITS, 60_001)).toMatchObject({ type: "ask", attempt: 2 });
});

it("asks an ACP agent again if the work says that it is idempotent", () => {
  const work = { ...WORK, payload: { ...WORK.payload, idempotent: true } };
  expect(decideTurn({ ...emptyLane, ...prompted(1, "acp") }, work, LIMITS, 0)).toMatchObject({
    type: "ask",
    attempt: 2,
  });
});
