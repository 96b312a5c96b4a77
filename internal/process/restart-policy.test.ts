import { describe, expect, it } from "vitest";
import { type AgentExit, decideRestart, exitCodeOf, type RestartMode } from "./restart-policy.ts";

const QUICK = 1000;
const LONG = 60_000;

describe("an agent that ended", () => {
  it.each([
    // mode          exit             lived  quick ends before   decision
    ["never", { code: 1 }, LONG, 0, "finish 1"],
    ["never", { signal: 9 }, LONG, 0, "finish 137"],
    ["on-failure", { code: 0 }, QUICK, 0, "finish 0"],
    ["on-failure", { code: 1 }, LONG, 0, "restart in 1000"],
    ["on-failure", { signal: 11 }, LONG, 0, "restart in 1000"],
    ["always", { code: 0 }, LONG, 0, "restart in 1000"],
    ["always", { code: 1 }, QUICK, 0, "restart in 1000"],
    ["always", { code: 1 }, QUICK, 1, "restart in 2000"],
    ["always", { code: 1 }, QUICK, 2, "restart in 4000"],
    ["always", { code: 1 }, QUICK, 3, "restart in 8000"],
    ["always", { code: 1 }, QUICK, 4, "crash loop, restart in 16000"],
    ["always", { code: 1 }, QUICK, 6, "crash loop, restart in 60000"],
    ["always", { code: 1 }, QUICK, 900, "crash loop, restart in 60000"],
    ["always", { code: 1 }, LONG, 900, "restart in 1000"],
    ["always", { code: 1 }, LONG - 1, 1, "restart in 2000"],
    ["on-failure", { code: 127 }, QUICK, 0, "finish 127"],
    ["always", { code: 126 }, QUICK, 0, "finish 126"],
    ["always", { code: 127 }, LONG, 0, "restart in 1000"],
    ["always", { code: 127 }, QUICK, 1, "restart in 2000"],
    ["on-failure", {}, LONG, 0, "restart in 1000"],
  ] as const satisfies readonly (readonly [RestartMode, AgentExit, number, number, string])[])(
    "%s, %o, lived %i ms, %i quick ends before: %s",
    (mode, exit, livedMs, quickEnds, decision) => {
      const made = decideRestart(mode, { exit, livedMs, quickEnds });
      const told =
        made.type === "finish"
          ? `finish ${made.exitCode}`
          : `${made.crashLoop ? "crash loop, " : ""}restart in ${made.delayMs}`;
      expect(told).toBe(decision);
    },
  );

  it("counts its quick ends in a row", () => {
    const again = (livedMs: number, quickEnds: number) =>
      decideRestart("always", { exit: { code: 1 }, livedMs, quickEnds });
    expect(again(QUICK, 3)).toMatchObject({ quickEnds: 4 });
    expect(again(LONG, 3)).toMatchObject({ quickEnds: 1 });
  });
});

it.each([
  [{ code: 0 }, 0],
  [{ code: 7 }, 7],
  [{ signal: 15 }, 143],
  [{}, 1],
])("%o is exit code %i", (exit, code) => {
  expect(exitCodeOf(exit)).toBe(code);
});
