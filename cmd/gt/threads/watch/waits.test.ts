import { describe, expect, it } from "vitest";
import { nextThatWaits, waitsOf } from "./waits.ts";
import { WatchView } from "./watch-view.ts";
import { whyWaits } from "./why-waits.ts";

const NOW = Date.parse("2026-01-01T10:00:00Z");
const at = (secondsAgo: number) => new Date(NOW - secondsAgo * 1000).toISOString();
const active = { status: "active", reason: "", pausedUntil: undefined };
const waiter = { given: false, since: NOW - 60_000 };
const wake = (state: string, blockedBy = "", more: object = {}) => ({
  ...{
    id: "w",
    agent: "fixer",
    state,
    blockedBy,
    outcome: "",
    blockedTitle: "",
    createdAt: NOW - 59_000,
    dueAt: NOW,
    ...more,
  },
});

describe("the reason why a thread waits for an agent", () => {
  it.each([
    ["is about to be woken", "waits", active, waiter, wake("PENDING")],
    ["no server has claimed its wake", "wrong", active, waiter, wake("PENDING", "", { dueAt: NOW - 11_000 })],
    ["is being woken", "waits", active, waiter, wake("CLAIMED")],
    ["wake queued, the agent is busy", "waits", active, waiter, wake("QUEUED", "busy")],
    ["wake queued, nothing blocks it", "waits", active, waiter, wake("QUEUED")],
    [
      "wake queued, a dialog is open: Trust it?",
      "person",
      active,
      waiter,
      wake("QUEUED", "dialog", { blockedTitle: "Trust it?" }),
    ],
    ["wake put off, a person is at its keys", "waits", active, waiter, wake("DEFERRED", "person")],
    ["wake put off, a draft is in its composer", "waits", active, waiter, wake("DEFERRED", "draft")],
    ["wake put off, none of its runtimes answers", "wrong", active, waiter, wake("DEFERRED", "unreachable")],
    ["wake put off, wakes are paused", "waits", active, waiter, wake("DEFERRED", "paused")],
    ["wake put off, something new", "waits", active, waiter, wake("DEFERRED", "something new")],
    ["was woken, has not read it yet", "waits", active, waiter, wake("SUBMITTED")],
    ["its wake was typed without proof: look at its terminal", "wrong", active, waiter, wake("UNKNOWN")],
    ["could not be woken: unsafe", "wrong", active, waiter, wake("FAILED", "", { outcome: "unsafe" })],
    ["has not read it", "waits", active, waiter, undefined],
    ["has not read it", "waits", active, waiter, wake("ACKED", "", { createdAt: NOW - 61_000 })],
    ["has it, and has not acknowledged it", "given", active, { ...waiter, given: true }, wake("ACKED")],
    ["the thread is blocked: a loop", "wrong", { ...active, status: "blocked", reason: "a loop" }, waiter, undefined],
    ["the thread's wakes are paused", "wrong", { ...active, pausedUntil: NOW + 1 }, waiter, undefined],
    ["has not read it", "waits", { ...active, pausedUntil: NOW }, waiter, undefined],
  ] as const)("%s (%s)", (why, concern, thread, one, newest) => {
    expect(whyWaits(thread, one, newest, NOW)).toEqual({ why, concern });
  });
});

describe("the list of waits", () => {
  const waiting = (agent_id: string, from: string, since: string, given = false) => ({
    ...{ agent_id, from, since, given, count: 1, seq: 1 },
  });
  const thread = (thread_id: string, status: string, ...waits: readonly object[]) => ({
    thread: { thread_id, title: thread_id, status, version: 1, updated_at: at(0), waiting: waits },
  });

  it("shows waits for people first, then faults, then the oldest, and skips closed threads", () => {
    const view = new WatchView();
    view.take(thread("t-1", "active", waiting("fixer", "lead", at(50)), waiting("me", "fixer", at(10))));
    view.take(thread("t-2", "active", waiting("tester", "lead", at(90)), waiting("idle", "lead", at(99), true)));
    view.take(thread("t-4", "active", waiting("tester", "lead", at(95))));
    view.take(thread("t-3", "closed", waiting("fixer", "lead", at(500))));
    view.take({ wake: { wake_id: "w", agent_id: "fixer", state: "UNKNOWN", created_at: at(40) } });
    const escalation = { escalation_id: "e", thread_id: "t-2", severity: "high", owner: "lead", reason: "loop" };
    view.take({ escalation: { ...escalation, state: "open", created_at: at(5) } });
    const shown = () => waitsOf(view, "me", NOW).map(({ from, agent, concern }) => `${from} > ${agent} ${concern}`);
    expect(shown()).toEqual([
      "fixer > me person",
      "! high > lead person",
      "lead > fixer wrong",
      "lead > tester waits",
      "lead > idle given",
    ]);
    const [tester] = waitsOf(view, "me", NOW).filter(({ agent }) => agent === "tester");
    expect(tester).toMatchObject({ threads: 2, count: 2, title: "t-4", since: NOW - 95_000 });
    view.take({ escalation: { ...escalation, state: "resolved", created_at: at(5) } });
    expect(shown()).not.toContain("! high > lead person");
  });

  it("shows an escalation of many threads once, and every other waiting thread in turn", () => {
    const view = new WatchView();
    for (const [at, id] of ["t-1", "t-2", "t-3"].entries()) {
      view.take(thread(id, "active", waiting(`fixer-${at}`, "lead", at === 0 ? "" : `2026-01-01T09:0${at}:00Z`)));
      const escalation = {
        escalation_id: `e-${id}`,
        thread_id: id,
        severity: "high",
        owner: "operators",
        reason: "loop",
      };
      view.take({ escalation: { ...escalation, state: "open", created_at: new Date(NOW - at).toISOString() } });
    }
    const waits = waitsOf(view, "me", NOW);
    expect(waits[0]).toMatchObject({ from: "! high", agent: "operators", threads: 3, thread: "t-3" });
    expect(waits).toHaveLength(4);
    const turn = [0, 1, 2, 3].reduce<string[]>((seen) => [...seen, nextThatWaits(waits, seen.at(-1)) ?? ""], []);
    expect(turn.slice(0, 3).toSorted()).toEqual(["t-1", "t-2", "t-3"]);
    expect(turn[3]).toBe(turn[0]);
    expect(nextThatWaits([], "t-1")).toBeUndefined();
  });
});
