import { beforeEach, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { stopAgent } from "./terminate-agent.ts";

const PID = 42;
/** tmux's answer for a pane: pid, dead, status, signal. */
const ALIVE = `${PID} 0  `;

let clock: FakeClock;
let pane: string | undefined;
/** Actions on the agent, with their times in milliseconds. */
let done: { readonly at: number; readonly what: string }[];
/** The actions that end the agent, each with tmux's description of that end. */
let endsBy: Readonly<Record<string, string | undefined>>;
let hurry: AbortController;
beforeEach(() => {
  clock = new FakeClock();
  pane = ALIVE;
  done = [];
  endsBy = {};
  hurry = new AbortController();
});

function act(what: string): void {
  done.push({ at: clock.monotonicMs(), what });
  if (what in endsBy) pane = endsBy[what];
}

function stop(agent: Parameters<typeof stopAgent>[1], graceMs: number) {
  const call = (...[command = "", ...args]: readonly string[]) => {
    if (command === "send-keys") act(`key ${args.at(-1)}`);
    else if (command === "run-shell") act("run-shell");
    return Promise.resolve(command === "list-panes" ? pane : "");
  };
  const signal = (target: number, name: string) => {
    if (target === -PID) act(name);
    return target === -PID;
  };
  return clock.until(stopAgent({ clock, call, signal }, agent, { graceMs, hurry: hurry.signal }));
}

it("returns nothing if there is no agent, and the end of one that has ended, without any action", async () => {
  pane = undefined;
  expect(await stop("claude", 10_000)).toBeUndefined();
  pane = `${PID} 1 3 `;
  expect(await stop("claude", 10_000)).toEqual({ code: 3 });
  expect(done).toEqual([]);
});

it("asks an agent in its own way first, and does nothing else once it has ended", async () => {
  await stop("claude", 10_000);
  const keys = done.map(({ what }) => what).filter((what) => what.startsWith("key"));
  const last = keys.at(-1) ?? "";
  expect(done.slice(0, keys.length).map(({ what }) => what)).toEqual(keys);
  done = [];
  pane = ALIVE;
  endsBy = { [last]: `${PID} 1 0 ` };
  expect(await stop("claude", 10_000)).toEqual({ code: 0 });
  expect(done.map(({ what }) => what)).toEqual(keys.slice(0, keys.indexOf(last) + 1));
});

it("ends an agent that ignores everything with TERM, HUP and KILL, in that order and within the grace period", async () => {
  expect(await stop("generic", 10_000)).toEqual({ signal: 9 });
  const signals = done.filter(({ what }) => what.startsWith("SIG"));
  expect(signals.map(({ what }) => what)).toEqual(["SIGTERM", "SIGCONT", "SIGHUP", "SIGKILL"]);
  const at = Object.fromEntries(signals.map(({ what, at }) => [what, at]));
  expect(at["SIGHUP"]).toBeGreaterThanOrEqual(6800); // four fifths of what is left without the time for KILL
  expect(at["SIGKILL"]).toBeLessThanOrEqual(8600);
  expect(clock.sleeping).toBe(0);
});

it("reports the signal or code with which it ended", async () => {
  endsBy = { SIGTERM: `${PID} 1  15` };
  expect(await stop("generic", 10_000)).toEqual({ signal: 15 });
  pane = ALIVE;
  endsBy = { SIGHUP: `${PID} 1 129 ` };
  expect(await stop("generic", 10_000)).toEqual({ code: 129 });
});

it("asks tmux again for an end that is not known yet", async () => {
  pane = `${PID} 1  `;
  endsBy = { "run-shell": `${PID} 1 7 ` };
  expect(await stop("generic", 10_000)).toEqual({ code: 7 });
});

it("sends KILL at once if time is short", async () => {
  hurry.abort();
  expect(await stop("claude", 60_000)).toEqual({ signal: 9 });
  expect(done.map(({ what }) => what)).toEqual(["SIGKILL"]);
});
