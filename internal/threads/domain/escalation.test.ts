import { describe, expect, it } from "vitest";
import { escalationOwner, isOverdue, ownerWake } from "./escalation.ts";

const member = (agentId: string, role = "worker", kind: "agent" | "person" = "agent") => ({ agentId, role, kind });
const WORKERS = [member("a"), member("b")];
const WITH_BOSS = [...WORKERS, member("boss", "orchestrator")];

describe("FR-09: an escalation belongs to", () => {
  it.each([
    ["the named agent", { named: "n", threadOwner: "o", orchestrator: "boss", members: WITH_BOSS }, "n"],
    ["or else the thread's owner", { named: undefined, threadOwner: "o", orchestrator: "boss", members: WORKERS }, "o"],
    ["or else the orchestrator", { named: undefined, threadOwner: "", orchestrator: "far", members: WITH_BOSS }, "far"],
    [
      "or else an orchestrator that takes part",
      { named: undefined, threadOwner: "", orchestrator: "", members: WITH_BOSS },
      "boss",
    ],
    ["or else the operators", { named: undefined, threadOwner: "", orchestrator: "", members: WORKERS }, "operators"],
  ])("%s", (_, facts, owner) => expect(escalationOwner(facts)).toBe(owner));
});

describe("FR-09: an escalation wakes", () => {
  it.each([
    ["an owner of the thread", "a", false, "", WORKERS, ["a"]],
    ["no worker of a blocked thread", "a", true, "", WORKERS, []],
    ["an orchestrator of a blocked thread", "boss", true, "", WITH_BOSS, ["boss"]],
    ["the workspace's orchestrator anywhere", "far", true, "far", WORKERS, ["far"]],
    ["no other orchestrator while one is named", "boss", true, "far", WITH_BOSS, []],
    ["no one outside the thread", "stranger", false, "", WORKERS, []],
    ["no person", "ann", false, "", [...WORKERS, member("ann", "lead", "person")], []],
    ["no one if it is for the operators", "operators", false, "", WORKERS, []],
    ["not the agent that escalates", "caller", false, "", [member("caller")], []],
  ] as const)("%s", (_, owner, isBlocked, orchestrator, members, woken) => {
    const wakes = ownerWake(owner, { by: "caller", isBlocked, orchestrator, members });
    expect(wakes.map((one) => one.agentId)).toEqual(woken);
  });
});

describe("FR-09: an escalation is overdue", () => {
  it.each([
    ["one before its time", "open", false, 99, false],
    ["at its time", "open", false, 100, true],
    ["after its time", "open", false, 101, true],
    ["after it was acknowledged", "acknowledged", false, 101, false],
    ["after it was resolved", "resolved", false, 101, false],
    ["a second time", "open", true, 101, false],
  ] as const)("%s: %s", (_, state, overdue, now, wanted) => {
    expect(isOverdue({ state, overdue, dueAt: 100 }, now)).toBe(wanted);
  });
});
