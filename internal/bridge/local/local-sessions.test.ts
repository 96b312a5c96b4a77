import { describe, expect, it } from "vitest";
import {
  alice,
  clock,
  dir,
  key,
  kindOf,
  never,
  provider,
  read,
  running,
  sessions,
  startLocal,
  stop,
  types,
  useLocalSessions,
} from "../../../test/support/bridge/local-sessions-bed.ts";
import { settle } from "../../../test/support/fake-clock.ts";
import { DomainError } from "../../base/errors.ts";
import { EventType } from "../../gen/bridge/v1/bridge_pb.ts";
import type { StartRequest } from "../session-backend.ts";

useLocalSessions();

describe("a start", () => {
  it("returns a running session with the requested parameters", async () => {
    expect(await startLocal("s1", { agentOpts: { model: "m" } })).toMatchObject({
      ...{ project: "p1", id: "s1", provider: "scripted", status: "running", agentOpts: { model: "m" } },
      ...{ repoPath: dir, error: "", reason: "", lastSeq: 1n, createdAt: clock.now() },
    });
    expect(provider.agents[0]?.config).toMatchObject({ project: "p1", sessionId: "s1", options: { model: "m" } });
  });

  it("with the same parameters returns the same session, even if both arrive at once", async () => {
    const both = await Promise.all([startLocal(), startLocal()]);
    const again = await startLocal();
    expect([...both, again].map(({ epoch }) => epoch)).toEqual(Array(3).fill(again.epoch));
    expect(provider.agents).toHaveLength(1);
  });

  it.each<[string, Partial<StartRequest>, string]>([
    ["other parameters for an id in use", { agentOpts: { model: "other" } }, "already-exists"],
    ["a provider that is not configured", { id: "s2", provider: "codex" }, "invalid"],
    ["an option that the provider does not know", { id: "s2", agentOpts: { shell: "sh" } }, "invalid"],
    ["an unknown mode", { id: "s2", agentOpts: { mode: "x" } }, "invalid"],
    ["a mode that the provider lacks", { id: "s2", agentOpts: { mode: "terminal" } }, "precondition"],
    ["a path that is not allowed", { id: "s2", repoPath: "/etc" }, "denied"],
    ["a folder that does not exist", { id: "s2", repoPath: "DIR/missing" }, "invalid"],
  ])("is refused for %s, before anything is started", async (_, more, kind) => {
    await startLocal();
    const wanted = { ...more, ...(more.repoPath && { repoPath: more.repoPath.replace("DIR", dir) }) };
    expect(await kindOf(startLocal("s1", wanted))).toBe(kind);
    expect(provider.agents).toHaveLength(1);
    expect(sessions.list("p1")).toHaveLength(1);
  });

  it("is refused for a provider that is not available, and leaves no trace", async () => {
    provider.health_ = async () => ({ available: false, error: "no such program", version: "" });
    expect(await Promise.all([kindOf(startLocal()), kindOf(startLocal())])).toEqual(["precondition", "precondition"]);
    expect(sessions.list("p1")).toEqual([]);
    expect(provider.agents).toEqual([]);
  });

  it("is refused in time for a provider that does not report its availability", async () => {
    provider.health_ = () => new Promise(() => {});
    const refused = kindOf(startLocal());
    await clock.advance(3000);
    expect(await refused).toBe("precondition");
  });

  it("returns STARTING if the agent takes long, and the session continues", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    provider.startHold = promise;
    const started = startLocal();
    await clock.advance(10_000);
    expect(await started).toMatchObject({ status: "starting", lastSeq: 0n });
    resolve();
    await settle();
    expect(sessions.get(key())).toMatchObject({ status: "running" });
  });

  it("that fails is kept as FAILED with its reason, until its retention ends", async () => {
    provider.startError = new DomainError("deadline", "the agent was not ready within 30000 ms");
    const error = "the agent was not ready within 30000 ms";
    expect(await startLocal()).toMatchObject({ status: "failed", error, reason: "StartFailed" });
    expect(await read()).toMatchObject([{ type: EventType.SESSION_FAILED, done: true, error }]);
    expect(await kindOf(startLocal())).toBe("precondition");
    provider.startError = undefined;
    await clock.advance(5000);
    expect(sessions.get(key())).toBeUndefined();
    expect(await startLocal()).toMatchObject({ status: "running" });
  });
});

describe("limits", () => {
  it("hold for 500 simultaneous starts, and count starting sessions", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    provider.startHold = promise;
    const projects = ["a", "b", "c", "d"];
    const all = Array.from({ length: 500 }, (_, i) =>
      kindOf(startLocal(`s${i}`, { project: projects[i % 4] as string })),
    );
    await settle();
    expect(provider.agents).toHaveLength(8);
    resolve();
    const kinds = await Promise.all(all);
    expect(kinds.filter((kind) => kind === "ok")).toHaveLength(8);
    expect(kinds.filter((kind) => kind === "exhausted")).toHaveLength(492);
    for (const project of projects) expect(sessions.list(project).length).toBeLessThanOrEqual(5);
  });

  it("do not count ended sessions", async () => {
    for (const id of ["1", "2", "3", "4", "5"]) await startLocal(id);
    expect(await kindOf(startLocal("6"))).toBe("exhausted");
    provider.agents[0]?.end();
    await settle();
    expect(await kindOf(startLocal("6"))).toBe("ok");
  });
});

describe("a session", () => {
  it("is independent of another project's session with the same id", async () => {
    await startLocal("s1");
    await startLocal("s1", { project: "p2" });
    expect(provider.agents).toHaveLength(2);
    expect(sessions.list("p1").map(({ project }) => project)).toEqual(["p1"]);
    expect(sessions.get(key("s1", "p3"))).toBeUndefined();
    expect(await kindOf(sessions.events(key("s1", "p3"), { subscriber: "", epoch: "" }, alice, never))).toBe(
      "not-found",
    );
  });

  it("reports what its agent does, without secrets, even if chunks split them", async () => {
    await startLocal();
    const [agent] = provider.agents;
    agent?.say({ type: "phase", state: "busy" });
    agent?.print("the key is hunt");
    agent?.print("er42\n");
    agent?.print("a warning\n", "stderr");
    await clock.advance(200);
    agent?.say({ type: "phase", state: "idle" });
    const events = await read();
    expect(types(events)).toEqual(["SESSION_STARTED", "PHASE_CHANGED", "STDOUT", "STDERR", "PHASE_CHANGED"]);
    expect(events[2]).toMatchObject({
      text: "the key is [redacted]\n",
      stream: "stdout",
      projectId: "p1",
      sessionId: "s1",
    });
    expect(events[3]).toMatchObject({ text: "a warning\n", stream: "stderr", provider: "scripted" });
    expect(events.map(({ seq }) => seq)).toEqual([1n, 2n, 3n, 4n, 5n]);
  });

  it("fails when its agent crashes, and the others continue", async () => {
    await startLocal("s1");
    await startLocal("s2");
    provider.agents[0]?.end("exit code 139");
    await settle();
    expect(sessions.get(key("s1"))).toMatchObject({ status: "failed", error: "exit code 139", reason: "AgentFailed" });
    expect((await read("s1")).at(-1)).toMatchObject({
      type: EventType.SESSION_FAILED,
      done: true,
      error: "exit code 139",
    });
    expect(sessions.get(key("s2"))).toMatchObject({ status: "running" });
  });

  it("that is stopped asks its agent, within the grace time, and ends with its last event", async () => {
    await startLocal();
    expect(await sessions.stop(key(), { force: false })).toMatchObject({ status: "stopping" });
    await settle();
    expect(sessions.get(key())).toMatchObject({ status: "stopped", reason: "StopRequested", stoppedAt: clock.now() });
    expect(provider.agents[0]?.stops).toEqual([1000]);
    expect((await read()).at(-1)).toMatchObject({ type: EventType.SESSION_STOPPED, done: true });
    expect(await sessions.stop(key(), { force: true })).toMatchObject({ status: "stopped" });
  });

  it("is killed at once by a forced stop, even while its agent is being asked", async () => {
    await startLocal();
    const agent = provider.agents[0];
    if (agent) agent.ignoresStop = true;
    await sessions.stop(key(), { force: false });
    await settle();
    expect(sessions.get(key())?.status).toBe("stopping");
    await sessions.stop(key(), { force: true });
    await settle();
    expect(sessions.get(key())?.status).toBe("stopped");
    expect(agent?.stops).toEqual([1000, 0]);
  });

  it("that is stopped while it starts never runs", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    provider.startHold = promise;
    const started = startLocal();
    await settle();
    await sessions.stop(key(), { force: false });
    expect(await started).toMatchObject({ status: "stopping" });
    resolve();
    await settle();
    expect(sessions.get(key())).toMatchObject({ status: "stopped" });
  });

  it("without input and output is stopped, and either prevents it", async () => {
    await startLocal();
    await clock.advance(50_000);
    provider.agents[0]?.print("x\n");
    await clock.advance(50_000);
    await sessions.sendInput(key(), { text: "hello", idempotencyKey: "" }, alice, never);
    await clock.advance(50_000);
    expect(sessions.get(key())?.status).toBe("running");
    await clock.advance(10_000);
    expect(sessions.get(key())).toMatchObject({ status: "stopped", reason: "IdleTimeout" });
  });

  it("ends with the bridge", async () => {
    await startLocal();
    stop.abort();
    await clock.until(running);
    expect(provider.agents[0]?.stops).toEqual([1000]);
    expect(await kindOf(startLocal("s9"))).toBe("unavailable");
  });
});
