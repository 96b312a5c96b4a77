import { create, fromBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ScriptedProvider } from "../../../test/fakes/scripted-provider.ts";
import { ScriptedLauncher, ScriptedTerminal } from "../../../test/fakes/scripted-terminal.ts";
import { FakeClock, settle } from "../../../test/support/fake-clock.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { DomainError } from "../../base/errors.ts";
import { Redactor } from "../../base/redact.ts";
import { EventType, EventTypeSchema, type SessionEvent, SessionEventSchema } from "../../gen/bridge/v1/bridge_pb.ts";
import { AgentState, GapReason, NudgeOutcome, NudgeReceiptSchema } from "../../gen/gastown/v1/common_pb.ts";
import {
  SidecarGetNudgeRequestSchema,
  SidecarNudgeRequestSchema,
  SidecarPeekRequestSchema,
  SidecarService,
  SidecarStatusRequestSchema,
  SidecarWatchRequestSchema,
} from "../../gen/gastown/v1/sidecar_pb.ts";
import type { FrameTarget } from "../../rpc/server/frames.ts";
import { LocalSessions } from "./local-sessions.ts";

const { peek } = SidecarService.method;
const never = new AbortController().signal;
const alice = { identity: "prd/alice", role: "operate" } as const;
const key = { project: "p1", id: "s1" };
const request = { ...key, provider: "scripted", repoPath: "/tmp", agentOpts: { mode: "terminal" } };

let clock: FakeClock;
let launcher: ScriptedLauncher;
let sessions: LocalSessions;
let stop: AbortController;
let running: Promise<void>;

function begin(): void {
  const options = { maxPerProject: 5, maxGlobal: 8, idleTimeoutMs: 60_000, stopGraceMs: 1000, retentionMs: 5000 };
  const providers = [new ScriptedProvider("scripted", ["stdio", "terminal"])];
  sessions = new LocalSessions(
    { clock, logger: silentLogger, redactor: new Redactor([]), providers, terminals: launcher },
    { ...options, eventBuffer: 100, eventBytes: 1e6, allowedPaths: ["/tmp"] },
  );
  stop = new AbortController();
  running = sessions.run(stop.signal);
}

beforeEach(() => {
  clock = new FakeClock();
  launcher = new ScriptedLauncher();
  begin();
});
afterEach(async () => {
  stop.abort();
  await clock.until(running);
  await settle();
  expect(clock.sleeping).toBe(0);
});

const start = () => clock.until(sessions.start(request, alice, never));
const only = () => launcher.terminals[0] as ScriptedTerminal;

async function read(after?: bigint, epoch = "", name = ""): Promise<readonly SessionEvent[]> {
  const events: SessionEvent[] = [];
  const leave = new AbortController();
  const send: FrameTarget["send"] = (frame) => {
    events.push(fromBinary(SessionEventSchema, frame.bytes(false).subarray(5)));
  };
  const from = { subscriber: name, epoch, after };
  const feed = await sessions.events(key, from, alice, never);
  const piped = feed.pipe({ backlog: 0, send, onDrain: () => {} }, leave.signal).catch(() => {});
  await clock.advance(300);
  leave.abort();
  await piped;
  return events;
}
const names = (events: readonly SessionEvent[]) =>
  events.map(({ seq, type }) => `${seq} ${EventTypeSchema.value[type]?.name}`);
const kindOf = (call: () => unknown) => {
  try {
    return String(call());
  } catch (err) {
    return err instanceof DomainError ? err.kind : err;
  }
};

describe("a session in a terminal", () => {
  it("has the numbers, the epoch and the bytes of its sidecar's events", async () => {
    expect(await start()).toMatchObject({ status: "running", agent: "rig/crew/ann", lastSeq: 1n, epoch: "e1" });
    only().tell({ type: EventType.STDOUT, text: "hello\n" });
    expect(names(await read())).toEqual(["1 SESSION_STARTED", "2 STDOUT"]);
    expect(await read(1n, "e1")).toMatchObject([{ seq: 2n, text: "hello\n", epoch: "e1" }]);
  });

  it("reads its sidecar once for all subscribers, and continues where the stream broke", async () => {
    await start();
    await read();
    await read();
    only().tell({ type: EventType.STDOUT, text: "a\n" });
    await settle();
    only().cut();
    only().tell({ type: EventType.STDOUT, text: "b\n" });
    expect(names(await read())).toEqual(["1 SESSION_STARTED", "2 STDOUT", "3 STDOUT"]);
    expect(only().calls.map(({ method }) => method)).toEqual(["StreamEvents", "StreamEvents"]);
  });

  it("reports to each subscriber the events that its sidecar lost and the subscriber had not received", async () => {
    await start();
    only().tell(...Array(9).fill({ type: EventType.STDOUT, text: "x\n" }));
    only().lostTo = 6n;
    only().cut();
    await clock.advance(300);
    const events = await read(0n);
    const later = ["6 STDOUT", "7 STDOUT", "8 STDOUT", "9 STDOUT", "10 STDOUT"];
    expect(names(events)).toEqual(["1 SESSION_STARTED", "5 BUFFER_OVERFLOW", ...later]);
    expect(events[1]?.gap).toMatchObject({ first: 2n, to: 6n, reason: GapReason.RESTART });
    expect(names(await read(3n))).toEqual(["5 BUFFER_OVERFLOW", ...later]);
  });

  it("begins a new epoch with its sidecar", async () => {
    await start();
    only().beginEpoch("e2");
    await clock.advance(600);
    expect(sessions.get(key)).toMatchObject({ epoch: "e2", lastSeq: 1n });
    const stale = sessions.events(key, { subscriber: "", epoch: "e1", after: 0n }, alice, never);
    expect(await stale.catch((err: unknown) => err)).toMatchObject({ kind: "precondition", fields: { epoch: "e2" } });
  });

  it("keeps its events after the sidecar has ended, and adds a last one if none was sent", async () => {
    await start();
    only().tell({ type: EventType.STDOUT, text: "last words\n" });
    await settle();
    only().end({ error: "the sidecar was killed by SIGKILL" });
    await clock.advance(1500);
    expect(sessions.get(key)).toMatchObject({ status: "failed", error: "the sidecar was killed by SIGKILL" });
    const events = await read();
    expect(names(events)).toEqual(["1 SESSION_STARTED", "2 STDOUT", "3 SESSION_FAILED"]);
    expect(events.at(-1)).toMatchObject({ done: true, sessionId: "s1", projectId: "p1" });
    expect(await sessions.terminal(key).unary(peek, create(SidecarPeekRequestSchema), alice, never)).toMatchObject({
      ...{ output: "", sessionAlive: false },
    });
  });

  it("shows the last screen of its agent and accepts no input after its end", async () => {
    await start();
    only().tell({ type: EventType.SESSION_STOPPED, done: true });
    await clock.advance(1500);
    expect(sessions.get(key)).toMatchObject({ status: "stopped" });
    const terminal = sessions.terminal(key);
    const look = (lines: number) => terminal.unary(peek, create(SidecarPeekRequestSchema, { lines }), alice, never);
    expect(await look(2)).toMatchObject({ output: "line 58\nline 59", sessionAlive: false, truncated: false });
    expect((await look(0)).output.split("\n")).toHaveLength(50);
    expect((await look(1000)).output.split("\n")).toHaveLength(60);
    await expect(look(100_001)).rejects.toMatchObject({ kind: "invalid" });
    const status = await terminal.unary(SidecarService.method.status, create(SidecarStatusRequestSchema), alice, never);
    expect(status).toMatchObject({ sessionAlive: false, state: AgentState.DEAD, agentPid: 0 });
    const nudge = create(SidecarNudgeRequestSchema, { message: "hello" });
    await expect(terminal.unary(SidecarService.method.nudge, nudge, alice, never)).rejects.toMatchObject({
      kind: "precondition",
    });
    const screens = terminal.stream(SidecarService.method.watchOutput, create(SidecarWatchRequestSchema), alice, never);
    await expect(screens[Symbol.asyncIterator]().next()).rejects.toMatchObject({ kind: "precondition" });
  });

  it("returns the receipt of a nudge to the nudge's sender after the session has ended", async () => {
    await start();
    const told = { requestId: "k1", outcome: NudgeOutcome.SUBMITTED, sender: "prd/alice via unix" };
    const receipt = create(NudgeReceiptSchema, told);
    only().tell({ type: EventType.NUDGE_RECEIPT, requestId: "k1", receipt });
    only().tell({ type: EventType.SESSION_STOPPED, done: true });
    await clock.advance(1500);
    const terminal = sessions.terminal(key);
    const { getNudge } = SidecarService.method;
    const ask = (requestId: string, identity: string) => {
      const caller = { identity, role: "nudge" } as const;
      return terminal.unary(getNudge, create(SidecarGetNudgeRequestSchema, { requestId }), caller, never);
    };
    expect(await ask("k1", "prd/alice")).toMatchObject({
      requestId: "k1",
      outcome: NudgeOutcome.SUBMITTED,
      delivered: true,
    });
    await expect(ask("k1", "prd/bob")).rejects.toMatchObject({ kind: "not-found" });
    await expect(ask("k2", "prd/alice")).rejects.toMatchObject({ kind: "not-found" });
  });

  it("delivers an input as a nudge in the caller's name, and returns the number of its event", async () => {
    await start();
    const input = { text: "hello", idempotencyKey: "k1" };
    expect(await clock.until(sessions.sendInput(key, input, alice, never))).toEqual({
      outcome: "submitted",
      seq: 2n,
      error: "",
    });
    expect(only().calls.at(-1)).toEqual({ method: "Nudge", caller: alice });
  });

  it("forwards calls to its terminal once the terminal exists", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    launcher.hold = promise;
    const starting = sessions.start(request, alice, never);
    await settle();
    expect(kindOf(() => sessions.terminal(key))).toBe("unavailable");
    resolve();
    await clock.until(starting);
    const { getNudge } = SidecarService.method;
    await sessions.terminal(key).unary(getNudge, create(SidecarGetNudgeRequestSchema), alice, never);
    expect(only().calls.at(-1)).toEqual({ method: "GetNudge", caller: alice });
  });

  it("sends its last event once its sidecar is gone or has been killed", async () => {
    await start();
    only().leaves = false;
    const [ends, leave] = [[] as string[], new AbortController()];
    const feed = await sessions.events(key, { subscriber: "", epoch: "" }, alice, never);
    const send: FrameTarget["send"] = (frame) => {
      const { done } = fromBinary(SessionEventSchema, frame.bytes(false).subarray(5));
      if (done) ends.push(sessions.get(key)?.status ?? "");
    };
    const piped = feed.pipe({ backlog: 0, send, onDrain: () => {} }, leave.signal);
    only().tell({ type: EventType.SESSION_STOPPED, done: true });
    await clock.advance(10_000);
    expect(ends).toEqual([]);
    expect(sessions.get(key)?.status).toBe("running");
    await clock.advance(10_000);
    await piped;
    expect(only().stops).toEqual([0]);
    expect(ends).toEqual(["stopped"]);
  });

  it("is stopped through its launcher", async () => {
    await start();
    await sessions.stop(key, { force: false });
    await clock.advance(1500);
    expect(only().stops).toEqual([1000]);
    expect(sessions.get(key)).toMatchObject({ status: "stopped", reason: "StopRequested" });
    expect((await read()).at(-1)).toMatchObject({ type: EventType.SESSION_STOPPED, done: true });
  });

  it("of an earlier bridge continues under its id, with its events", async () => {
    stop.abort();
    await clock.until(running);
    const config = { project: "p1", sessionId: "s1", repoPath: "/tmp", cwd: "/tmp", options: {} };
    const launched = new ScriptedTerminal({ ...config, provider: "scripted", createdAt: 5, request });
    launched.tell({ type: EventType.STDOUT, text: "from before\n" });
    launcher.survivors_ = [{ config: launched.config, launched }];
    begin();
    await sessions.ready;
    expect(sessions.get(key)).toMatchObject({ status: "running", createdAt: 5, lastSeq: 2n, epoch: "e1" });
    expect(names(await read(1n, "e1", "ui"))).toEqual(["2 STDOUT"]);
    expect(launcher.terminals).toEqual([]);
    expect(names(await read())).toEqual(["1 SESSION_STARTED", "2 STDOUT"]);
  });

  it("of an earlier bridge is FAILED from the start, and never STARTING, if it ended with that bridge", async () => {
    stop.abort();
    await clock.until(running);
    const config = { project: "p1", sessionId: "s1", repoPath: "/tmp", cwd: "/tmp", options: {} };
    const launched = new ScriptedTerminal({ ...config, provider: "scripted", createdAt: 5, request });
    launched.lose("ended with its bridge");
    launcher.survivors_ = [{ config: launched.config, launched, isLost: true }];
    const before = clock.now();
    begin();
    await sessions.ready;
    expect(sessions.get(key)).toMatchObject({ status: "failed", error: "ended with its bridge", lastSeq: 1n });
    expect(clock.now()).toBe(before);
  });

  it("of an earlier bridge is served once all events of its sidecar are known", async () => {
    await start();
    only().tell(...Array(4).fill({ type: EventType.STDOUT, text: "x\n" }));
    const launched = only();
    const [before, earlier] = [stop, running];
    launcher = new ScriptedLauncher();
    launcher.survivors_ = [{ config: launched.config, launched }];
    let release = () => {};
    launched.slow = new Promise((resolve) => {
      release = resolve;
    });
    begin();
    let isReady = false;
    const ready = sessions.ready.then(() => {
      isReady = true;
    });
    await settle();
    expect(isReady).toBe(false);
    release();
    await ready;
    expect(sessions.get(key)).toMatchObject({ status: "running", lastSeq: 5n });
    expect(names(await read(4n, "e1"))).toEqual(["5 STDOUT"]);
    before.abort();
    await clock.until(earlier);
  });

  it("refuses every position, as unavailable, until its sidecar has sent an event", async () => {
    let release = () => {};
    launcher.hold = new Promise((resolve) => {
      release = resolve;
    });
    const starting = start();
    await settle();
    const open = (after: bigint | undefined, epoch: string) =>
      sessions.events(key, { subscriber: "ui", epoch, after }, alice, never).then(
        () => "ok",
        (err: unknown) => (err instanceof DomainError ? err.kind : err),
      );
    expect([await open(undefined, "e1"), await open(3n, ""), await open(undefined, "")]).toEqual([
      ...["unavailable", "unavailable", "ok"],
    ]);
    await expect(sessions.ack(key, { subscriber: "ui", seq: 1n, epoch: "e1" }, alice, never)).rejects.toThrow(
      "no position is known",
    );
    release();
    await starting;
    expect([await open(undefined, "e1"), await open(3n, "e1"), await open(1n, "e0")]).toEqual([
      ...["ok", "precondition", "precondition"],
    ]);
  });

  it("stores positions in its sidecar, where the next bridge finds them", async () => {
    await start();
    only().tell(...Array(4).fill({ type: EventType.STDOUT, text: "x\n" }));
    await settle();
    await sessions.ack(key, { subscriber: "ui", seq: 3n, epoch: "e1" }, alice, never);
    const launched = only();
    expect(launched.positions).toEqual(new Map([["prd/alice ui", 3n]]));
    const before = stop;
    launcher = new ScriptedLauncher();
    launcher.survivors_ = [{ config: launched.config, launched }];
    const earlier = running;
    begin();
    await start();
    expect(names(await read(undefined, "", "ui"))).toEqual(["4 STDOUT", "5 STDOUT"]);
    expect(names(await read(undefined, "", "new")).at(0)).toBe("1 SESSION_STARTED");
    await sessions.ack(key, { subscriber: "all", seq: 5n, epoch: "e1" }, alice, never);
    expect(names(await read(undefined, "", "all"))).toEqual([]);
    before.abort();
    await clock.until(earlier);
  });
});

it("a session over stdio has no terminal", async () => {
  await sessions.start({ ...request, agentOpts: {} }, alice, never);
  expect(kindOf(() => sessions.terminal(key))).toBe("unimplemented");
});
