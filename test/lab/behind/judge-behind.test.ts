import { describe, expect, it } from "vitest";
import { type BehindTruth, judgeBehind, type Look } from "./judge-behind.ts";

const TURN = { from: 10_000, to: 20_000, withTool: true };
const SHELL = { kind: "shell", from: 12_000, to: 40_000 } as const;
const TRUTH: BehindTruth = { turns: [TURN], behind: [SHELL], sentAt: [8000], isTold: true };
const look = (at: number, state: string, ...kinds: string[]): Look => ({ at, until: at + 20, state, kinds });
const faults = (looks: readonly Look[], truth = TRUTH) => judgeBehind(looks, truth, 2000).faults;

describe("looks at an agent with background work", () => {
  it("are right when it is busy during its turn, and idle with the list afterwards", () => {
    const looks = [look(5000, "idle"), look(15_000, "busy"), look(25_000, "idle", "shell"), look(45_000, "idle")];
    expect(judgeBehind(looks, TRUTH, 2000)).toEqual({ judged: 4, faults: [] });
  });

  it.each([
    ["idle in the middle of a turn", look(15_000, "idle")],
    ["busy with [], and idle with [shell] is so", look(25_000, "busy")],
    ["idle with [], and idle with [shell] is so", look(25_000, "idle")],
    ["idle with [shell,shell], and idle with [shell] is so", look(25_000, "idle", "shell", "shell")],
    ["idle with [shell], and idle with [] is so", look(45_000, "idle", "shell")],
  ])("are wrong: %s", (fault, wrong) => {
    expect(faults([wrong])).toEqual([expect.stringContaining(`${fault} (from `)]);
  });

  it("are not judged right after a change, nor the list within a turn", () => {
    const looks = [
      look(11_000, "idle"),
      look(21_000, "busy"),
      look(41_000, "idle", "shell"),
      look(15_000, "busy", "x"),
    ];
    expect(judgeBehind(looks, TRUTH, 2000)).toEqual({ judged: 1, faults: [] });
  });

  it("are not judged when something changed before the answer arrived", () => {
    expect(judgeBehind([{ ...look(5000, "idle"), until: 9500 }], TRUTH, 2000)).toEqual({ judged: 0, faults: [] });
  });

  it("are not judged between a message and its turn", () => {
    expect(judgeBehind([look(8200, "busy")], TRUTH, 2000)).toEqual({ judged: 0, faults: [] });
  });

  it("count consecutive equal faults once", () => {
    expect(faults([look(25_000, "busy"), look(25_200, "busy"), look(30_000, "idle", "shell")])).toHaveLength(1);
  });

  it("list nothing for a program that reports nothing", () => {
    const truth = { ...TRUTH, isTold: false };
    expect(faults([look(25_000, "idle")], truth)).toEqual([]);
    expect(faults([look(25_000, "idle", "shell")], truth)).toHaveLength(1);
  });
});
