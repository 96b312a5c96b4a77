import { describe, expect, it } from "vitest";
import type { BackgroundKind, ReportedTask } from "../../agents/profile.ts";
import { type BackgroundSigns, backgroundTasks } from "./background.ts";

const NOW = 5000;
const task = (id: string, kind: BackgroundKind = "shell", title = id): ReportedTask => ({ id, kind, title });
const list = (signs: Partial<BackgroundSigns>, before: Parameters<typeof backgroundTasks>[1] = []) =>
  backgroundTasks({ told: [], counts: [], ...signs }, before, NOW);
const ids = (...given: Parameters<typeof list>) => list(...given).map(({ id }) => id);

describe("the list of background tasks", () => {
  it("contains what the end of the turn reported, each with the time at which it was first seen", () => {
    const before = [{ ...task("b1"), since: 1000 }];
    expect(list({ told: [task("b1"), task("a1", "subagent")] }, before)).toEqual([
      { ...task("b1"), since: 1000 },
      { ...task("a1", "subagent"), since: NOW },
    ]);
  });

  it("loses tasks that the screen no longer counts, the oldest first", () => {
    const told = [task("b1"), task("b2"), task("a1", "subagent")];
    expect(ids({ told, counts: [{ kind: "shell", count: 1 }] })).toEqual(["a1", "b2"]);
    expect(ids({ told, counts: [{ kind: "shell", count: 0 }] })).toEqual(["a1"]);
  });

  it("is empty once the agent's file reports that nothing runs", () => {
    expect(ids({ told: [task("b1")], file: { type: "idle", background: "none" } })).toEqual([]);
    expect(ids({ told: [task("b1")], file: { type: "idle", background: "shell" } })).toEqual(["b1"]);
    expect(ids({ told: [task("b1")], file: { type: "busy" } })).toEqual(["b1"]);
  });

  it("has an untitled task for each that only the screen or the file reports", () => {
    expect(list({ counts: [{ kind: "shell", count: 2 }] })).toEqual([
      { id: "shell-1", kind: "shell", title: "", since: NOW },
      { id: "shell-2", kind: "shell", title: "", since: NOW },
    ]);
    expect(ids({ file: { type: "idle", background: "shell" } })).toEqual(["shell-1"]);
  });

  it("keeps the start of a counted task when it gets its name", () => {
    const before = [{ id: "shell-1", kind: "shell", title: "", since: 77 }] as const;
    expect(list({ told: [task("b1"), task("b2")] }, before).map(({ since }) => since)).toEqual([77, NOW]);
  });

  it("has titles of at most 200 characters on one line without control characters", () => {
    const [hostile, long] = list({
      told: [task("b1", "shell", "a\x1b]0;x\x07\nb\u202e"), task("b2", "shell", "😀".repeat(900))],
    });
    expect(hostile?.title).toBe("a b");
    expect(Array.from(long?.title ?? "")).toHaveLength(200);
  });

  it("is bounded, whatever a screen counts", () => {
    expect(ids({ counts: [{ kind: "shell", count: 999 }] })).toHaveLength(100);
  });
});
