import { describe, expect, it } from "vitest";
import { type Candidate, decide, type Situation } from "./delivery-policy.ts";

const calm: Situation = {
  state: "idle",
  restartDue: true,
  composerSeen: true,
  draft: false,
  idleUnprovable: false,
  quietMs: 60_000,
};
const WAIT_IDLE: Candidate = { mode: "wait-idle", parked: false, expired: false };
const IMMEDIATE: Candidate = { ...WAIT_IDLE, mode: "immediate" };
/** A QUEUE message, or any other whose caller has received QUEUED. */
const QUEUED: Candidate = { mode: "queue", parked: true, expired: false };
const TOLD: Candidate = { ...IMMEDIATE, parked: true };

function verdict(candidate: Candidate, now: Partial<Situation>): string {
  const decision = decide(candidate, { ...calm, ...now });
  return decision.type === "end" ? decision.outcome : decision.type;
}

describe("the decision about a message", () => {
  it.each([
    // situation                                             wait-idle            immediate            queued
    ["an idle agent", {}, "deliver", "deliver", "deliver"],
    ["a busy agent", { state: "busy" }, "wait", "deliver", "wait"],
    ["an agent that may be busy", { state: "uncertain" }, "wait", "deliver", "wait"],
    ["an agent that has proved nothing yet", { state: "uncertain", unproven: true }, "wait", "wait", "wait"],
    ["an agent that works before it has proved anything", { state: "busy", unproven: true }, "wait", "deliver", "wait"],
    ["an agent that hangs", { state: "stalled" }, "wait", "deliver", "wait"],
    ["an agent that is waiting for a limit to end", { state: "parked" }, "wait", "deliver", "wait"],
    ["a starting agent", { state: "starting", composerSeen: false }, "wait", "wait", "wait"],
    ["a dead agent with a restart due", { state: "dead" }, "wait", "wait", "wait"],
    [
      "an agent that ended and is not restarted",
      { state: "dead", restartDue: false },
      "agent-dead",
      "agent-dead",
      "agent-dead",
    ],
    ["an agent that keeps crashing", { state: "crash-loop" }, "agent-dead", "agent-dead", "wait"],
    ["an agent that is being stopped", { state: "stopping" }, "agent-dead", "agent-dead", "agent-dead"],
    ["a dialog", { state: "dialog" }, "blocked-by-dialog", "blocked-by-dialog", "wait"],
    ["a person's draft", { draft: true }, "composer-busy", "composer-busy", "wait"],
    ["a person's draft in a busy agent", { draft: true, state: "busy" }, "composer-busy", "composer-busy", "wait"],
    ["a person who types", { typing: true }, "composer-busy", "composer-busy", "wait"],
    ["an earlier message in an unreadable prompt", { leftover: true }, "composer-busy", "composer-busy", "wait"],
    ["an earlier message that was not drawn", { undrawn: true }, "wait", "composer-busy", "wait"],
    [
      "an earlier message that a stalled agent did not draw",
      { undrawn: true, state: "stalled" },
      "wait",
      "composer-busy",
      "wait",
    ],
    ["a draft right after a message of ours", { draft: true, justSubmitted: true }, "wait", "wait", "wait"],
    ["a dialog over a draft", { state: "dialog", draft: true }, "blocked-by-dialog", "blocked-by-dialog", "wait"],
    ["no place to type into", { composerSeen: false }, "wait", "wait", "wait"],
  ] as const)("for %s", (_, now, waitIdle, immediate, queued) => {
    const got = [WAIT_IDLE, IMMEDIATE, QUEUED].map((candidate) => verdict(candidate, now));
    expect(got).toEqual([waitIdle, immediate, queued]);
  });
});

describe("an immediate message whose caller has received QUEUED", () => {
  it.each([
    ["waits through dialogs", { state: "dialog" }, "wait"],
    ["waits through drafts", { draft: true }, "wait"],
    ["waits through crash loops", { state: "crash-loop" }, "wait"],
    ["is typed into a busy agent", { state: "busy" }, "deliver"],
  ] as const)("%s", (_, now, decision) => {
    expect(verdict(TOLD, now)).toBe(decision);
  });
});

describe("a program whose screen cannot prove that it is idle", () => {
  const unknown = { idleUnprovable: true, composerSeen: false, state: "uncertain" } as const;
  it.each([
    ["is typed into once it has been quiet for two seconds", { quietMs: 2000 }, WAIT_IDLE, "deliver"],
    ["is not typed into while it prints", { quietMs: 1999 }, WAIT_IDLE, "wait"],
    ["is typed into at once if requested", { quietMs: 0 }, IMMEDIATE, "deliver"],
    ["is typed into if it reports that it is idle", { quietMs: 0, state: "idle" }, WAIT_IDLE, "deliver"],
    ["is not typed into while it reports that it is working", { state: "busy" }, WAIT_IDLE, "wait"],
    ["is not typed into if it reports that it waits for a person", { state: "dialog" }, IMMEDIATE, "blocked-by-dialog"],
    ["is not typed into when it is dead", { state: "dead", restartDue: false }, IMMEDIATE, "agent-dead"],
  ] as const)("%s", (_, now, candidate, decision) => {
    expect(verdict(candidate, { ...unknown, ...now })).toBe(decision);
  });
});

it.each([WAIT_IDLE, IMMEDIATE, QUEUED])("an expired message ends as expired, whatever else applies", (candidate) => {
  for (const state of ["idle", "dialog", "dead", "stopping"] as const)
    expect(verdict({ ...candidate, expired: true }, { state, restartDue: false })).toBe("expired");
});

describe("the check that holds or ends a message", () => {
  it.each([
    ["stopping", { state: "stopping" }],
    ["ended", { state: "dead", restartDue: false }],
    ["crashing", { state: "crash-loop" }],
    ["restarting", { state: "starting" }],
    ["dialog", { state: "dialog", draft: true }],
    ["person", { typing: true, draft: true }],
    ["undrawn", { undrawn: true, draft: true }],
    ["old-drawing", { draft: true, justSubmitted: true }],
    ["draft", { draft: true, leftover: true }],
    ["leftover", { leftover: true, composerSeen: false }],
    ["no-composer", { composerSeen: false }],
    ["unproven", { unproven: true, state: "uncertain" }],
    ["busy", { state: "busy" }],
  ] as const)("is named: %s", (check, now) => {
    expect(decide(WAIT_IDLE, { ...calm, ...now })).toMatchObject({ check });
  });
});

it("every refusal has a reason", () => {
  const ends = [
    decide({ ...QUEUED, expired: true }, calm),
    decide(WAIT_IDLE, { ...calm, state: "dialog" }),
    decide(WAIT_IDLE, { ...calm, draft: true }),
    decide(WAIT_IDLE, { ...calm, state: "stopping" }),
  ];
  for (const end of ends) expect(end).toMatchObject({ type: "end", error: expect.stringMatching(/^[a-z].{10,}[^.]$/) });
});
