import { describe, expect, it } from "vitest";
import { nextState, type SessionFact, type SessionState } from "./session-state.ts";

const starting: SessionState = { type: "starting" };
const running: SessionState = { type: "running" };
const stopping: SessionState = { type: "stopping", why: "StopRequested" };
const stopped: SessionState = { type: "stopped", at: 1, why: "StopRequested" };
const failed: SessionState = { type: "failed", at: 1, why: "AgentFailed", error: "it broke" };

const start: SessionFact = { type: "started" };
const stop: SessionFact = { type: "stop", why: "StopRequested" };
const idle: SessionFact = { type: "stop", why: "IdleTimeout" };
const exit: SessionFact = { type: "ended", at: 9 };
const crash: SessionFact = { type: "ended", at: 9, error: "exit code 1" };

describe("a session", () => {
  it.each<[SessionState, SessionFact, SessionState]>([
    [starting, start, running],
    [starting, stop, stopping],
    [starting, exit, { type: "failed", at: 9, why: "StartFailed", error: "the agent ended during its start" }],
    [starting, crash, { type: "failed", at: 9, why: "StartFailed", error: "exit code 1" }],
    [running, start, running],
    [running, idle, { type: "stopping", why: "IdleTimeout" }],
    [running, exit, { type: "stopped", at: 9, why: "AgentExited" }],
    [running, crash, { type: "failed", at: 9, why: "AgentFailed", error: "exit code 1" }],
    [stopping, start, stopping],
    [stopping, idle, stopping],
    [stopping, exit, { type: "stopped", at: 9, why: "StopRequested" }],
    [stopping, crash, { type: "stopped", at: 9, why: "StopRequested" }],
    ...[start, stop, exit, crash].map((fact): [SessionState, SessionFact, SessionState] => [stopped, fact, stopped]),
    ...[start, stop, exit, crash].map((fact): [SessionState, SessionFact, SessionState] => [failed, fact, failed]),
  ])("%j changes on %j to %j", (state, fact, next) => {
    expect(nextState(state, fact)).toEqual(next);
  });
});
