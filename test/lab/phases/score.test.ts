import { describe, expect, it } from "vitest";
import { type Sample, scoreOf } from "./score.ts";

const LAGS = { busyMs: 300, idleMs: 300 };
const TURN = { from: 10_000, to: 20_000, withTool: false };

/** The reported states, sampled every 100 ms: each holds from its moment on. */
function told(...changes: readonly (readonly [at: number, state: string])[]): Sample[] {
  const samples: Sample[] = [];
  for (let at = 0; at < 30_000; at += 100) {
    const [since, state] = changes.findLast(([from]) => from <= at) ?? [0, "starting"];
    samples.push({ at, state, since });
  }
  return samples;
}

describe("the score", () => {
  it("is full when the true state is reported within the permitted lags, and contains the lags", () => {
    const score = scoreOf(told([0, "idle"], [10_120, "busy"], [20_250, "idle"]), [TURN], [], LAGS);
    expect(score).toMatchObject({ falseIdles: [], busyRecall: 1, idleRecall: 1, busyLagsMs: [120], idleLagsMs: [250] });
  });

  it("counts each report of idle for a working agent beyond the lag", () => {
    const flashes = told(
      [0, "idle"],
      [10_000, "busy"],
      [12_000, "idle"],
      [12_400, "busy"],
      [15_000, "idle"],
      [15_100, "busy"],
      [20_000, "idle"],
    );
    const { falseIdles, busyRecall } = scoreOf(flashes, [TURN], [], LAGS);
    expect(falseIdles.map(({ intoMs }) => intoMs)).toEqual([2000, 5000]);
    expect(busyRecall).toBeCloseTo(1 - 500 / 9700, 3);
  });

  it("counts idle only when it is reported too long after the work began", () => {
    expect(scoreOf(told([0, "idle"], [10_300, "busy"]), [TURN], [], LAGS).falseIdles).toEqual([]);
    expect(scoreOf(told([0, "idle"], [10_500, "busy"]), [TURN], [], LAGS).falseIdles).toHaveLength(1);
  });

  it("counts uncertain as a miss for idle and for busy", () => {
    const score = scoreOf(told([0, "uncertain"]), [TURN], [], LAGS);
    expect(score).toMatchObject({ busyRecall: 0, busyUncertain: 1, idleRecall: 0, idleUncertain: 1, falseIdles: [] });
  });

  it("ignores a person's actions and rest before the first work", () => {
    const hands = [{ from: 22_000, to: 29_000 }];
    const score = scoreOf(
      told([10_000, "busy"], [20_000, "idle"], [22_000, "dialog"], [29_000, "idle"]),
      [TURN],
      hands,
      LAGS,
    );
    expect(score).toMatchObject({ idleRecall: 1, busyRecall: 1 });
    expect(score.idleMs).toBeLessThan(3000);
  });

  it("has no lag for a state that was there from the start", () => {
    expect(scoreOf(told([0, "busy"], [20_100, "idle"]), [TURN], [], LAGS).busyLagsMs).toEqual([]);
  });
});
