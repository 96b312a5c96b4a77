import { isOpenWake } from "../../../../internal/threads/domain/types.ts";
import type { ThreadRow, Waiter, WakeRow } from "./watch-view.ts";

/**
 * The attention that a wait needs: `person` is for people, `wrong` does not resolve by itself, `waits` does, `given`
 * has reached the agent.
 */
export type Concern = "person" | "wrong" | "waits" | "given";

const BLOCKED: Readonly<Record<string, string>> = {
  busy: "the agent is busy",
  dialog: "a dialog is open",
  draft: "a draft is in its composer",
  person: "a person is at its keys",
  parked: "the agent's limit is used up",
  unreachable: "none of its runtimes answers",
  paused: "wakes are paused",
  rate: "it is woken too often",
};

/** A server claims a wake within a second; clocks may differ. */
const CLAIMED_MS = 10_000;

/** The reason why a thread waits for a participant. `now`: wall clock, ms. */
export function whyWaits(
  { status, reason, pausedUntil }: Pick<ThreadRow, "status" | "reason" | "pausedUntil">,
  { given, since }: Pick<Waiter, "given" | "since">,
  wake: WakeRow | undefined,
  now: number,
): { readonly why: string; readonly concern: Concern } {
  if (wake !== undefined && isOpenWake(wake.state)) return ofOpen(wake, now);
  if (given) return { why: "has it, and has not acknowledged it", concern: "given" };
  if (status === "blocked") return { why: `the thread is blocked: ${reason}`, concern: "wrong" };
  if (pausedUntil !== undefined && pausedUntil > now) return { why: "the thread's wakes are paused", concern: "wrong" };
  // A wake that was created before the message and has ended says nothing about the message.
  if (wake === undefined || (wake.createdAt < since && ["ACKED", "CANCELLED", "EXPIRED"].includes(wake.state))) {
    return { why: "has not read it", concern: "waits" };
  }
  return ofEnded(wake);
}

function ofOpen({ state, blockedBy, blockedTitle, dueAt }: WakeRow, now: number): ReturnType<typeof whyWaits> {
  if (state === "PENDING" && blockedBy === "") {
    if (now - dueAt > CLAIMED_MS) return { why: "no server has claimed its wake", concern: "wrong" };
    return { why: "is about to be woken", concern: "waits" };
  }
  if (state === "CLAIMED" && blockedBy === "") return { why: "is being woken", concern: "waits" };
  const by = BLOCKED[blockedBy] ?? (blockedBy === "" ? "nothing blocks it" : blockedBy);
  const title = blockedBy === "dialog" && blockedTitle !== "" ? `: ${blockedTitle}` : "";
  const concern = blockedBy === "dialog" ? "person" : blockedBy === "unreachable" ? "wrong" : "waits";
  return { why: `wake ${state === "DEFERRED" ? "put off" : "queued"}, ${by}${title}`, concern };
}

function ofEnded({ state, outcome }: WakeRow): { readonly why: string; readonly concern: Concern } {
  if (state === "SUBMITTED") return { why: "was woken, has not read it yet", concern: "waits" };
  if (state === "UNKNOWN") return { why: "its wake was typed without proof: look at its terminal", concern: "wrong" };
  if (state === "FAILED") return { why: `could not be woken: ${outcome}`, concern: "wrong" };
  return { why: "has not read it", concern: "waits" };
}
