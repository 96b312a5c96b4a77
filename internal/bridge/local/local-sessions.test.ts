import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ScriptedProvider } from "../../../test/fakes/scripted-provider.ts";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { DomainError } from "../../base/errors.ts";
import { Redactor } from "../../base/redact.ts";
import { EventType, EventTypeSchema, type SessionEvent, SessionEventSchema } from "../../gen/bridge/v1/bridge_pb.ts";
import type { FrameTarget } from "../../rpc/server/frames.ts";
import type { StartRequest } from "../session-backend.ts";
import { LocalSessions, type LocalSessionsOptions } from "./local-sessions.ts";

const never = new AbortController().signal;
const alice = { identity: "prd/alice", role: "operate" } as const;
const bob = { identity: "prd/bob", role: "nudge" } as const;

let dir: string;
let clock: FakeClock;
let provider: ScriptedProvider;
let sessions: LocalSessions;
let stop: AbortController;
let running: Promise<void>;

function begin(options: Partial<LocalSessionsOptions> = {}): void {
  provider = new ScriptedProvider();
  clock = new FakeClock();
  stop = new AbortController();
  const limits = { maxPerProject: 5, maxGlobal: 8, idleTimeoutMs: 60_000, stopGraceMs: 1000, retentionMs: 5000 };
  sessions = new LocalSessions(
    { clock, logger: silentLogger, redactor: new Redactor(["hunter\\d+"]), providers: [provider] },
    { ...limits, eventBuffer: 1000, eventBytes: 1e7, allowedPaths: [dir], ...options },
  );
  running = sessions.run(stop.signal);
}

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "gt-sessions-"));
  begin();
});
afterEach(async () => {
  stop.abort();
  await clock.until(running);
  expect(clock.sleeping).toBe(0);
  rmSync(dir, { recursive: true });
});

const request = (id = "s1", more: Partial<StartRequest> = {}): StartRequest => ({
  ...{ project: "p1", id, provider: "scripted", repoPath: dir, agentOpts: {} },
  ...more,
});
const start = (id?: string, more?: Partial<StartRequest>) => sessions.start(request(id, more), alice, never);
const key = (id = "s1", project = "p1") => ({ project, id });
const kindOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "ok",
    (err: unknown) => (err instanceof DomainError ? err.kind : err),
  );

/** What a subscriber has got so far. */
function subscriber(): FrameTarget & { readonly events: SessionEvent[] } {
  const events: SessionEvent[] = [];
  return {
    events,
    backlog: 0,
    send: (frame) => void events.push(fromBinary(SessionEventSchema, frame.bytes(false).subarray(5))),
    onDrain: () => {},
  };
}

async function read(id = "s1"): Promise<readonly SessionEvent[]> {
  const target = subscriber();
  const leave = new AbortController();
  const feed = await sessions.events(key(id), { subscriber: "", epoch: "" }, alice, never);
  const piped = feed.pipe(target, leave.signal).catch(() => {});
  await clock.advance(200);
  leave.abort();
  await piped;
  return target.events;
}

const types = (events: readonly SessionEvent[]) => events.map(({ type }) => EventTypeSchema.value[type]?.name);

describe("a start", () => {
  it("gives a session that runs, with the parameters it was asked for", async () => {
    expect(await start("s1", { agentOpts: { model: "m" } })).toMatchObject({
      ...{ project: "p1", id: "s1", provider: "scripted", status: "running", agentOpts: { model: "m" } },
      ...{ repoPath: dir, error: "", reason: "", lastSeq: 1n, createdAt: clock.now() },
    });
    expect(provider.agents[0]?.config).toMatchObject({ project: "p1", sessionId: "s1", options: { model: "m" } });
  });

  it("with the same parameters gives the same session, also when both come at once", async () => {
    const both = await Promise.all([start(), start()]);
    const again = await start();
    expect([...both, again].map(({ epoch }) => epoch)).toEqual(Array(3).fill(again.epoch));
    expect(provider.agents).toHaveLength(1);
  });

  it.each<[string, Partial<StartRequest>, string]>([
    ["other parameters for an id in use", { agentOpts: { model: "other" } }, "already-exists"],
    ["a provider that is not configured", { id: "s2", provider: "codex" }, "invalid"],
    ["an option that the provider does not know", { id: "s2", agentOpts: { shell: "sh" } }, "invalid"],
    ["a mode that is none", { id: "s2", agentOpts: { mode: "x" } }, "invalid"],
    ["a mode that the provider lacks", { id: "s2", agentOpts: { mode: "terminal" } }, "precondition"],
    ["a path that is not allowed", { id: "s2", repoPath: "/etc" }, "denied"],
    ["a folder that is not there", { id: "s2", repoPath: "DIR/missing" }, "invalid"],
  ])("is refused for %s, before anything is started", async (_, more, kind) => {
    await start();
    const wanted = { ...more, ...(more.repoPath && { repoPath: more.repoPath.replace("DIR", dir) }) };
    expect(await kindOf(start("s1", wanted))).toBe(kind);
    expect(provider.agents).toHaveLength(1);
    expect(sessions.list("p1")).toHaveLength(1);
  });

  it("is refused for a provider that is not available, and leaves no trace", async () => {
    provider.health_ = async () => ({ available: false, error: "no such program", version: "" });
    expect(await Promise.all([kindOf(start()), kindOf(start())])).toEqual(["precondition", "precondition"]);
    expect(sessions.list("p1")).toEqual([]);
    expect(provider.agents).toEqual([]);
  });

  it("is refused in time for a provider that does not say whether it is available", async () => {
    provider.health_ = () => new Promise(() => {});
    const refused = kindOf(start());
    await clock.advance(3000);
    expect(await refused).toBe("precondition");
  });

  it("answers STARTING when the agent takes long, and the session goes on", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    provider.startHold = promise;
    const started = start();
    await clock.advance(10_000);
    expect(await started).toMatchObject({ status: "starting", lastSeq: 0n });
    resolve();
    await settle();
    expect(sessions.get(key())).toMatchObject({ status: "running" });
  });

  it("that fails is kept as FAILED with its reason, until its retention ends", async () => {
    provider.startError = new DomainError("deadline", "the agent was not ready within 30000 ms");
    const error = "the agent was not ready within 30000 ms";
    expect(await start()).toMatchObject({ status: "failed", error, reason: "StartFailed" });
    expect(await read()).toMatchObject([{ type: EventType.SESSION_FAILED, done: true, error }]);
    expect(await kindOf(start())).toBe("precondition");
    provider.startError = undefined;
    await clock.advance(5000);
    expect(sessions.get(key())).toBeUndefined();
    expect(await start()).toMatchObject({ status: "running" });
  });
});

describe("limits", () => {
  it("hold for 500 starts at once, those that are starting counted", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    provider.startHold = promise;
    const projects = ["a", "b", "c", "d"];
    const all = Array.from({ length: 500 }, (_, i) => kindOf(start(`s${i}`, { project: projects[i % 4] as string })));
    await settle();
    expect(provider.agents).toHaveLength(8);
    resolve();
    const kinds = await Promise.all(all);
    expect(kinds.filter((kind) => kind === "ok")).toHaveLength(8);
    expect(kinds.filter((kind) => kind === "exhausted")).toHaveLength(492);
    for (const project of projects) expect(sessions.list(project).length).toBeLessThanOrEqual(5);
  });

  it("count no session that has ended", async () => {
    for (const id of ["1", "2", "3", "4", "5"]) await start(id);
    expect(await kindOf(start("6"))).toBe("exhausted");
    provider.agents[0]?.end();
    await settle();
    expect(await kindOf(start("6"))).toBe("ok");
  });
});

describe("a session", () => {
  it("of another project with the same id is another one, and neither is found by the other", async () => {
    await start("s1");
    await start("s1", { project: "p2" });
    expect(provider.agents).toHaveLength(2);
    expect(sessions.list("p1").map(({ project }) => project)).toEqual(["p1"]);
    expect(sessions.get(key("s1", "p3"))).toBeUndefined();
    expect(await kindOf(sessions.events(key("s1", "p3"), { subscriber: "", epoch: "" }, alice, never))).toBe(
      "not-found",
    );
  });

  it("tells what its agent does, without secrets that chunks have cut", async () => {
    await start();
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

  it("whose agent crashes has failed, and others go on", async () => {
    await start("s1");
    await start("s2");
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
    await start();
    expect(await sessions.stop(key(), { force: false })).toMatchObject({ status: "stopping" });
    await settle();
    expect(sessions.get(key())).toMatchObject({ status: "stopped", reason: "StopRequested", stoppedAt: clock.now() });
    expect(provider.agents[0]?.stops).toEqual([1000]);
    expect((await read()).at(-1)).toMatchObject({ type: EventType.SESSION_STOPPED, done: true });
    expect(await sessions.stop(key(), { force: true })).toMatchObject({ status: "stopped" });
  });

  it("is killed at once with force, also while it is being asked", async () => {
    await start();
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
    const started = start();
    await settle();
    await sessions.stop(key(), { force: false });
    expect(await started).toMatchObject({ status: "stopping" });
    resolve();
    await settle();
    expect(sessions.get(key())).toMatchObject({ status: "stopped" });
  });

  it("without input and output is stopped, and either keeps it", async () => {
    await start();
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
    await start();
    stop.abort();
    await clock.until(running);
    expect(provider.agents[0]?.stops).toEqual([1000]);
    expect(await kindOf(start("s9"))).toBe("unavailable");
  });
});

describe("an input", () => {
  const send = (text: string, idempotencyKey = "", caller: typeof alice | typeof bob = alice) =>
    sessions.sendInput(key(), { text, idempotencyKey }, caller, never);

  it("is told with its number, and what became of it", async () => {
    await start();
    expect(await send("hello", "k1")).toEqual({ outcome: "submitted", seq: 2n, error: "" });
    const events = await read();
    expect(types(events)).toEqual(["SESSION_STARTED", "INPUT_RECEIVED", "NUDGE_RECEIPT", "STDOUT"]);
    expect(events[1]).toMatchObject({ requestId: "k1", text: "hello", seq: 2n });
    expect(events.find(({ type }) => type === EventType.NUDGE_RECEIPT)).toMatchObject({
      requestId: "k1",
      receipt: { sender: "prd/alice" },
    });
  });

  it("with a key that was used is given once, also when both come at once", async () => {
    await start();
    const answers = await Promise.all([send("hello", "k1"), send("hello", "k1", bob), send("hello", "k1")]);
    expect(answers).toEqual(Array(3).fill({ outcome: "submitted", seq: 2n, error: "" }));
    expect(provider.agents[0]?.inputs).toHaveLength(1);
    expect(await kindOf(send("another", "k1"))).toBe("already-exists");
  });

  it("that is queued ends when the agent takes it", async () => {
    await start();
    const [agent] = provider.agents;
    if (agent) agent.outcome = { outcome: "queued", error: "" };
    expect(await send("later", "k1")).toMatchObject({ outcome: "queued" });
    expect(types(await read())).not.toContain("NUDGE_RECEIPT");
    agent?.say({ type: "input-settled", requestId: "k1", result: { outcome: "submitted", error: "" } });
    expect(types(await read())).toContain("NUDGE_RECEIPT");
    expect(await send("later", "k1")).toMatchObject({ outcome: "submitted" });
  });

  it("that is queued when the agent dies has its receipt before the last event", async () => {
    await start();
    const [agent] = provider.agents;
    if (agent) agent.outcome = { outcome: "queued", error: "" };
    await send("later", "k1");
    agent?.end("exit code 1");
    await settle();
    expect(types(await read()).slice(-2)).toEqual(["NUDGE_RECEIPT", "SESSION_FAILED"]);
  });

  it("waits while the session starts, and is refused when it does not run", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    provider.startHold = promise;
    void start();
    await settle();
    const sent = send("hello");
    resolve();
    expect(await sent).toMatchObject({ outcome: "submitted" });
    await sessions.stop(key(), { force: true });
    expect(await kindOf(send("hello"))).toBe("precondition");
  });

  it("is refused when 50 wait for the agent", async () => {
    await start();
    const [agent] = provider.agents;
    if (agent) agent.hold = new Promise(() => {});
    for (let i = 0; i < 50; i++) void send(`text ${i}`).catch(() => {});
    await settle();
    expect(await kindOf(send("one more"))).toBe("exhausted");
  });
});

describe("positions", () => {
  it("belong to the caller and its subscriber_id", async () => {
    await start();
    for (let i = 0; i < 5; i++) {
      provider.agents[0]?.print(`${i}\n`);
      await clock.advance(200);
    }
    const { epoch } = sessions.get(key()) as { epoch: string };
    await sessions.ack(key(), { subscriber: "ui", seq: 4n, epoch }, alice, never);
    const firstOf = async (caller: typeof alice | typeof bob, subscriberId: string) => {
      const target = subscriber();
      const leave = new AbortController();
      const feed = await sessions.events(key(), { subscriber: subscriberId, epoch }, caller, never);
      const piped = feed.pipe(target, leave.signal).catch(() => {});
      await settle();
      leave.abort();
      await piped;
      return target.events[0]?.seq;
    };
    expect(await firstOf(alice, "ui")).toBe(5n);
    expect(await firstOf(bob, "ui")).toBe(1n);
    expect(await firstOf(alice, "other")).toBe(1n);
  });

  it("of another epoch or ahead of the head are refused with the current ones", async () => {
    await start();
    const { epoch } = sessions.get(key()) as { epoch: string };
    const open = (after: bigint, given: string) =>
      sessions.events(key(), { subscriber: "", epoch: given, after }, alice, never).catch((err: unknown) => err);
    const fields = { epoch, head: "1" };
    expect(await open(0n, "stale")).toMatchObject({ kind: "precondition", fields });
    expect(await open(2n, epoch)).toMatchObject({ kind: "precondition", fields });
    const ack = (seq: bigint, given: string, name = "ui") =>
      kindOf(sessions.ack(key(), { subscriber: name, seq, epoch: given }, alice, never));
    expect(await ack(2n, epoch)).toBe("precondition");
    expect(await ack(1n, "")).toBe("invalid");
    expect(await ack(1n, epoch, "")).toBe("invalid");
  });
});

describe("watching", () => {
  it("tells each change of the project's sessions, the last of many, and that one is gone", async () => {
    const seen: string[] = [];
    const watching = (async () => {
      for await (const { type, session } of sessions.changes("p1", stop.signal))
        seen.push(`${session.id} ${type === "gone" ? type : session.status}`);
    })().catch(() => {});
    await start("s1");
    await start("x", { project: "p2" });
    await settle();
    await sessions.stop(key(), { force: false });
    await clock.advance(5000);
    expect(seen.at(0)).toBe("s1 starting");
    expect(seen).toContain("s1 running");
    expect(seen.slice(-2)).toEqual(["s1 stopped", "s1 gone"]);
    expect(seen.join()).not.toContain("x");
    stop.abort();
    await watching;
  });
});
