import { beforeEach, describe, expect, it } from "vitest";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { TmuxPane } from "../../tmux/pane/pane.ts";
import { AgentLifecycle } from "./agent-lifecycle.ts";
import { PaneAccess, type PaneWait } from "./pane-access.ts";

const PANE = { id: "%0" } as TmuxPane;
const never = new AbortController().signal;

let clock: FakeClock;
let lifecycle: AgentLifecycle;
let isAttached: boolean;
let access: PaneAccess;
beforeEach(() => {
  clock = new FakeClock();
  lifecycle = new AgentLifecycle(0, { pid: 7, startedAt: 0, restarts: 0 });
  lifecycle.found(7, undefined, 0);
  lifecycle.pane = PANE;
  isAttached = true;
  access = new PaneAccess({ clock, lifecycle, isAttached: () => isAttached });
});

function setPane(pane: TmuxPane | undefined): void {
  lifecycle.pane = pane;
}

function setAttached(is: boolean): void {
  isAttached = is;
}

/** The outcome, once there is one. */
function outcomeOf(wait: PaneWait, signal = never): { got?: unknown } {
  const outcome: { got?: unknown } = {};
  void wait(signal).then(
    (pane) => {
      outcome.got = pane ?? "nothing";
    },
    (err: unknown) => {
      outcome.got = err;
    },
  );
  return outcome;
}

describe("the pane for a call", () => {
  it("is there at once while tmux answers", async () => {
    const outcome = outcomeOf(access.forCall());
    await settle();
    expect([outcome.got, clock.sleeping]).toEqual([PANE, 0]);
  });

  it.each([
    ["the pane has not been found yet", () => setPane(undefined), () => setPane(PANE)],
    ["the control client is being restarted", () => setAttached(false), () => setAttached(true)],
  ])("is waited for while %s", async (_, lose, comeBack) => {
    lose();
    const outcome = outcomeOf(access.forCall());
    await clock.advance(4900);
    expect(outcome.got).toBeUndefined();
    comeBack();
    await clock.advance(20);
    expect(outcome.got).toBe(PANE);
  });

  it("is waited for until five seconds after the call, including the wait for its turn to type", async () => {
    isAttached = false;
    const wait = access.forCall();
    await clock.advance(4000); // another has the pen
    const outcome = outcomeOf(wait);
    await clock.advance(900);
    expect(outcome.got).toBeUndefined();
    await clock.advance(120);
    expect(outcome.got).toBe("nothing");
  });

  it("is not waited for if the agent has ended", async () => {
    isAttached = false;
    lifecycle.ended({ signal: 1 }, 0);
    const outcome = outcomeOf(access.forCall());
    await settle();
    expect(outcome.got).toBe("nothing");
  });

  it("is not that of an agent that was started meanwhile", async () => {
    lifecycle.pane = undefined;
    const outcome = outcomeOf(access.forCall());
    await settle();
    lifecycle.ended({ signal: 1 }, 0, { pid: 7 });
    lifecycle.found(8, undefined, 0);
    lifecycle.pane = PANE;
    await clock.advance(20);
    expect(outcome.got).toBeInstanceOf(DomainError);
    expect(outcome.got).toMatchObject({ kind: "unavailable" });
  });

  it("is that of the first agent if the call came before it", async () => {
    lifecycle = new AgentLifecycle(0, undefined);
    access = new PaneAccess({ clock, lifecycle, isAttached: () => isAttached });
    const outcome = outcomeOf(access.forCall());
    await settle();
    lifecycle.found(8, undefined, 0);
    lifecycle.pane = PANE;
    await clock.advance(20);
    expect(outcome.got).toBe(PANE);
  });

  it("is not waited for after the caller has left", async () => {
    isAttached = false;
    const caller = new AbortController();
    const outcome = outcomeOf(access.forCall(), caller.signal);
    await settle();
    caller.abort(new Error("left"));
    await settle();
    expect([outcome.got, clock.sleeping]).toEqual([new Error("left"), 0]);
  });
});

it("a peek waits two seconds for the pane, because it can answer with the emulator's part", async () => {
  isAttached = false;
  const outcome = outcomeOf(access.forPeek());
  await clock.advance(1900);
  expect(outcome.got).toBeUndefined();
  await clock.advance(120);
  expect(outcome.got).toBe("nothing");
});
