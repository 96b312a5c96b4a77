import { describe, expect, it } from "vitest";
import { systemClock } from "../../../internal/base/clock.ts";
import { DomainError } from "../../../internal/base/errors.ts";
import type { AgentStatus } from "../../../internal/session/agent-status.ts";
import type { Backend } from "../../../internal/terminal/backend.ts";
import { waitUntil } from "./wait-until.ts";

const { signal } = new AbortController();
const options = { clock: systemClock, timeoutMs: 5000 };
const status = (state: AgentStatus["state"]) =>
  ({ state, alive: state !== "dead", background: [] }) as unknown as AgentStatus;
const gone = () => new DomainError("unavailable", "connection refused");

/** A backend that gives these answers in order, and then repeats the last. */
function backendOf(...answers: (AgentStatus | Error)[]): Pick<Backend, "status" | "watch"> {
  let at = 0;
  return {
    status: async () => {
      const answer = answers[Math.min(at++, answers.length - 1)];
      if (answer instanceof Error || answer === undefined) throw answer;
      return answer;
    },
    watch: async function* () {
      yield { kind: "end", alive: false } as never;
    },
  };
}

describe("waiting", () => {
  it("continues while the sidecar is briefly unreachable", async () => {
    const backend = backendOf(status("busy"), gone(), gone(), status("idle"));
    expect(await waitUntil("idle", backend, options, signal)).toMatchObject({
      reached: true,
      status: { state: "idle" },
    });
  });

  it("treats the end of the stream as the agent's end if its sidecar is gone too", async () => {
    expect(await waitUntil("dead", backendOf(status("idle"), gone()), options, signal)).toEqual({ reached: true });
  });

  it("fails at once if the agent cannot be reached at first", async () => {
    await expect(waitUntil("idle", backendOf(gone()), options, signal)).rejects.toThrow("connection refused");
  });

  it("continues until its timeout while the control plane starts the session", async () => {
    const starting = new DomainError("unavailable", "session is starting", { fields: { session: "starting" } });
    const backend = backendOf(starting, starting, status("idle"));
    expect(await waitUntil("idle", backend, options, signal)).toMatchObject({ reached: true });
    expect(await waitUntil("idle", backendOf(starting), { ...options, timeoutMs: 1 }, signal)).toEqual({
      reached: false,
    });
  });

  it("waits 10 s for an agent that does not answer at first or that its control plane cannot reach", async () => {
    let now = 0;
    const later = async (ms: number) => {
      now += ms;
    };
    const clock = { ...systemClock, monotonicMs: () => now, sleep: later };
    const slow = { clock, timeoutMs: 120_000 };
    const away = new DomainError("unavailable", "its sidecar cannot be reached", { fields: { session: "away" } });
    for (const failure of [new DomainError("deadline", "no answer"), away]) {
      const backend = backendOf(failure, failure, status("idle"));
      expect(await waitUntil("idle", backend, slow, signal)).toMatchObject({ reached: true });
      now = 0;
      await expect(waitUntil("idle", backendOf(failure), slow, signal)).rejects.toBe(failure);
      expect(now).toBe(10_000);
    }
  });

  it("treats a session as dead only if the control plane reports that it has ended", async () => {
    const ended = new DomainError("precondition", 'session "a" has ended', { fields: { session: "ended" } });
    expect(await waitUntil("dead", backendOf(ended), options, signal)).toEqual({ reached: true });
    expect(await waitUntil("dead", backendOf(status("busy"), ended), options, signal)).toEqual({ reached: true });
    await expect(waitUntil("idle", backendOf(ended), options, signal)).rejects.toThrow("has ended");
    const failed = new DomainError("precondition", 'session "a" has failed');
    await expect(waitUntil("dead", backendOf(failed), options, signal)).rejects.toThrow("has failed");
  });

  it("fails when the session no longer exists", async () => {
    const backend = backendOf(status("busy"), new DomainError("not-found", "no such session"));
    await expect(waitUntil("idle", backend, options, signal)).rejects.toThrow("no such session");
  });

  it("ends as soon as the agent has ended, whatever the goal is", async () => {
    const ended = { reached: false, status: { state: "dead" } };
    for (const goal of ["idle", "done", "dialog"] as const) {
      expect(await waitUntil(goal, backendOf(status("dead")), options, signal)).toMatchObject(ended);
      const ending = backendOf(status("busy"), status("dead"), new DomainError("not-found", "asked after the end"));
      expect(await waitUntil(goal, ending, options, signal)).toMatchObject(ended);
    }
  });

  it("checks the state once, however short the timeout is", async () => {
    const short = { ...options, timeoutMs: 1 };
    expect(await waitUntil("idle", backendOf(status("idle")), short, signal)).toMatchObject({ reached: true });
    expect(await waitUntil("idle", backendOf(status("busy")), short, signal)).toMatchObject({ reached: false });
  });
});
