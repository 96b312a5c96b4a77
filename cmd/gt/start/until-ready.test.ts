import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { DomainError } from "../../../internal/base/errors.ts";
import { GetSessionResponseSchema, SessionStatus } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import type { AgentStateName } from "../../../internal/session/types.ts";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { untilReady } from "./until-ready.ts";

const { STARTING, RUNNING, STOPPED, FAILED } = SessionStatus;
const { signal } = new AbortController();
const away = new DomainError("unavailable", "tmux is away");

/** Waits for a session that gives these answers in turn and then repeats the last. Also returns the number of looks. */
async function waitFor(
  sessions: readonly SessionStatus[],
  states: readonly (AgentStateName | Error)[] = [],
  rows = 24,
) {
  const clock = new FakeClock();
  let [looks, asked] = [0, 0];
  const started = {
    look: async () =>
      create(GetSessionResponseSchema, { status: sessions[Math.min(looks++, sessions.length - 1)] ?? STARTING }),
    status: async () => {
      const state = states[Math.min(asked++, states.length - 1)];
      if (state === undefined || state instanceof Error) throw state;
      return { state, rows };
    },
  };
  const waiting = untilReady(started, { clock, timeoutMs: 10_000 }, signal);
  let ended = false;
  const end = () => {
    ended = true;
  };
  waiting.then(end, end);
  for (await settle(); !ended; await settle()) await clock.advance(250);
  return { ...(await waiting), looks };
}

it.each<[readonly SessionStatus[], readonly (AgentStateName | Error)[], string, number]>([
  [[STARTING, STARTING, RUNNING], ["starting", away, "idle"], "ready", 5],
  [[RUNNING], ["uncertain", "uncertain", "starting", "uncertain", "idle"], "ready", 5],
  [[RUNNING], ["uncertain"], "ready", 13],
  [[RUNNING], ["busy"], "ready", 1],
  [[RUNNING], ["starting", "dialog"], "dialog", 2],
  [[STARTING, FAILED], [], "ended", 2],
  [[RUNNING, STOPPED], [new DomainError("precondition", "it has ended")], "ended", 2],
  [[RUNNING], ["crash-loop"], "ended", 1],
  [[STARTING], [], "late", 41],
  [[RUNNING], [away], "late", 41],
])("sessions %j with %j: %s", async (sessions, states, type, looks) => {
  expect(await waitFor(sessions, states)).toMatchObject({ type, looks });
});

it("counts a session without a terminal as ready as soon as it runs", async () => {
  expect(await waitFor([STARTING, RUNNING], ["uncertain"], 0)).toMatchObject({ type: "ready", looks: 2 });
});

it("fails if the agent refuses the caller", async () => {
  await expect(waitFor([RUNNING], [new DomainError("denied", "not yours")])).rejects.toThrow("not yours");
});
