import type { PaneStatus } from "../../../internal/session/types.ts";

export const GOALS = ["idle", "done", "dialog", "dead"] as const;

export type WaitGoal = (typeof GOALS)[number];

/** Whether an agent with this status has reached the goal. */
export function isReached(goal: WaitGoal, status: Pick<PaneStatus, "state" | "alive" | "background">): boolean {
  if (goal === "done") return status.state === "idle" && status.background.length === 0;
  if (goal === "dead") return status.state === "dead" && !status.alive;
  return status.state === goal;
}
