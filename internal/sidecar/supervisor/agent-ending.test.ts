import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { AgentExit } from "../../process/restart-policy.ts";
import { AgentEnding } from "./agent-ending.ts";
import { HalfEnd } from "./half-end.ts";
import type { StopOrder } from "./terminate-agent.ts";

const GRACE_MS = 10_000;

let clock: FakeClock;
let end: HalfEnd;
let logged: { readonly level: string; readonly fields: object }[];
/** The calls of `stopAgent`, each with a function that lets the agent end. */
let stops: { readonly order: StopOrder; readonly ended: (exit: AgentExit | undefined) => void }[];
let processesEnded: number;
/** Calls in their order. */
let calls: string[];
let ending: AgentEnding;
beforeEach(() => {
  clock = new FakeClock();
  end = new HalfEnd();
  logged = [];
  stops = [];
  processesEnded = 0;
  calls = [];
  const log = (level: string) => (fields: object) => void logged.push({ level, fields });
  ending = new AgentEnding(
    {
      clock,
      logger: { info: log("info"), debug: log("debug") } as unknown as Logger,
      end,
      stop: (order) => {
        calls.push("stop");
        return new Promise((ended) => stops.push({ order, ended }));
      },
      endProcesses: async () => void processesEnded++,
      wakeTmux: () => void calls.push("wake"),
    },
    { graceMs: GRACE_MS },
  );
});

const settled = () => new Promise(setImmediate);

describe("a request to stop the agent", () => {
  it("continues a stopped tmux before it sends a command", () => {
    ending.request({ graceMs: 500, force: false });
    expect(calls).toEqual(["wake", "stop"]);
  });

  it.each([
    [500, 500],
    [0, GRACE_MS],
  ])("with %i ms of grace gives the agent %i ms", (graceMs, given) => {
    ending.request({ graceMs, force: false });
    expect(stops.map(({ order }) => order.graceMs)).toEqual([given]);
    expect(stops[0]?.order.hurry.aborted).toBe(false);
  });

  it("has no effect during another one, unless it is forced", () => {
    ending.request({ graceMs: 500, force: false });
    ending.request({ graceMs: 100, force: false });
    expect(stops).toHaveLength(1);
    expect(stops[0]?.order.hurry.aborted).toBe(false);
    ending.request({ graceMs: 100, force: true });
    expect(stops).toHaveLength(1);
    expect(stops[0]?.order.hurry.aborted).toBe(true);
  });

  it("ends the next agent as well after the first has ended", async () => {
    ending.request({ graceMs: 500, force: false });
    stops[0]?.ended({ code: 3 });
    await settled();
    ending.request({ graceMs: 500, force: false });
    expect(stops).toHaveLength(2);
    expect(end.exitCode).toBe(3);
  });

  it("ends the processes of an agent whose session is gone", async () => {
    ending.request({ graceMs: 500, force: false });
    stops[0]?.ended(undefined);
    await settled();
    expect(processesEnded).toBe(1);
    expect(end.exitCode).toBe(0);
  });
});

describe("the end of the supervising half", () => {
  it("stops the agent within the grace period, and returns the code of its signal", async () => {
    const stop = new AbortController();
    const run = ending.run(stop.signal);
    await settled();
    expect(stops).toHaveLength(0);
    stop.abort();
    await settled();
    expect(stops[0]?.order.graceMs).toBe(GRACE_MS);
    stops[0]?.ended({ signal: 9 });
    await run;
    expect(end.exitCode).toBe(137);
    expect(processesEnded).toBe(0);
    expect(clock.sleeping).toBe(0);
  });

  it("waits for a requested stop until 1.5 s before the end of the grace period, then kills", async () => {
    ending.request({ graceMs: 600_000, force: false });
    const run = ending.run(AbortSignal.abort());
    await settled();
    await clock.advance(GRACE_MS - 1501);
    expect(stops).toHaveLength(1);
    expect(stops[0]?.order.hurry.aborted).toBe(false);
    await clock.advance(1);
    expect(stops[0]?.order.hurry.aborted).toBe(true);
    stops[0]?.ended({ signal: 9 });
    await settled();
    stops[1]?.ended({ signal: 9 });
    await run;
    expect(stops).toHaveLength(2);
  });

  it("is logged once, at the level of a refused start if the start was refused", async () => {
    end.refuse(2);
    ending.request({ graceMs: 1, force: false });
    stops[0]?.ended({ code: 0 });
    await settled();
    const run = ending.run(AbortSignal.abort());
    await settled();
    stops[1]?.ended({ code: 0 });
    await run;
    expect(logged).toEqual([{ level: "debug", fields: { code: 0 } }]);
    expect(end.exitCode).toBe(2);
  });
});
