import { describe, expect, it } from "vitest";
import { bundleOf, nextRotation, type RotationState, type SidecarReport, startRotation } from "./ca-rotation.ts";

const CALLERS_MS = 90 * 86_400_000;
const OLD = "0a";
const NEW = "1b";
const look = (state: RotationState, reports: readonly SidecarReport[] = [], now = 0) =>
  nextRotation(state, reports, now, { callersMs: CALLERS_MS });
const report = (session: string, caSha256: readonly string[] | undefined, issuer: string | undefined = OLD) => ({
  session,
  caSha256,
  issuer,
});

describe("the replacement of a CA", () => {
  it("goes through its phases, each only after every sidecar has followed the previous one", () => {
    let state = startRotation({ type: "steady", current: OLD }, NEW);
    expect([state.type, bundleOf(state)]).toEqual(["introducing", [OLD, NEW]]);
    state = look(state, [report("one", [OLD, NEW])], 1000).state;
    expect([state.type, bundleOf(state)]).toEqual(["reissuing", [NEW, OLD]]);
    state = look(state, [report("one", [OLD, NEW], NEW)], 1000 + CALLERS_MS).state;
    expect([state.type, bundleOf(state)]).toEqual(["retiring", [NEW]]);
    state = look(state, [report("one", [NEW], NEW)]).state;
    expect(state).toEqual({ type: "steady", current: NEW });
  });

  it.for([
    ["does not have the new CA", { type: "introducing", current: OLD, next: NEW }, report("slow", [OLD])],
    ["cannot be reached", { type: "introducing", current: OLD, next: NEW }, report("slow", undefined)],
    [
      "serves with a certificate of the old CA",
      { type: "reissuing", current: NEW, previous: OLD, since: 0 },
      report("slow", [OLD, NEW], OLD),
    ],
    ["still trusts the old CA", { type: "retiring", current: NEW, previous: OLD }, report("slow", [NEW, OLD], NEW)],
  ] as const)("waits while a sidecar %s, and names it", ([, state, slow]) => {
    const quick = report("quick", [NEW, ...(state.type === "retiring" ? [] : [OLD])], NEW);
    expect(look(state, [quick, slow], CALLERS_MS * 2)).toEqual({ state, waitingFor: ["slow"] });
  });

  it("keeps the old CA trusted until the last caller's certificate from it has expired", () => {
    const state = { type: "reissuing", current: NEW, previous: OLD, since: 1000 } as const;
    expect(look(state, [], 1000 + CALLERS_MS - 1).state.type).toBe("reissuing");
    expect(look(state, [], 1000 + CALLERS_MS).state.type).toBe("retiring");
  });

  it("is not started again while one is under way, nor with the same CA", () => {
    const under = { type: "introducing", current: OLD, next: NEW } as const;
    expect(startRotation(under, "2c")).toBe(under);
    const steady = { type: "steady", current: OLD } as const;
    expect(startRotation(steady, OLD)).toBe(steady);
  });

  it("takes one step per check, even if there is no sidecar", () => {
    expect(look({ type: "introducing", current: OLD, next: NEW }).state.type).toBe("reissuing");
  });
});
