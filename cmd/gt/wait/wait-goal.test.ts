import { expect, it } from "vitest";
import type { AgentStateName } from "../../../internal/session/types.ts";
import { GOALS, isReached } from "./wait-goal.ts";

const task = { id: "b1", kind: "shell", title: "npm run dev", since: 0 } as const;
const reached = (state: AgentStateName, alive = true, background = [] as (typeof task)[]) =>
  GOALS.filter((goal) => isReached(goal, { state, alive, background }));

it.each([
  ["idle", ["idle", "done"]],
  ["busy", []],
  ["dialog", ["dialog"]],
  ["parked", []],
  ["starting", []],
  ["stalled", []],
  ["uncertain", []],
  ["stopping", []],
] as const)("%s is %j", (state, goals) => expect(reached(state)).toEqual(goals));

it("is not done while something runs in the background", () => {
  expect(reached("idle", true, [task])).toEqual(["idle"]);
});

it("is dead only without a process", () => {
  expect(reached("dead", false)).toEqual(["dead"]);
  expect(reached("dead", true)).toEqual([]);
  expect(reached("crash-loop", false)).toEqual([]);
});
