import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { machineTime } from "../../../test/support/machine-time.ts";
import { silentLogger } from "../../../test/support/silent-logger.ts";
import { profileNamed } from "../../agents/programs/registry.ts";
import type { StopRequest } from "../../session/stop.ts";
import type { NudgeReceipt, NudgeRequest } from "../../session/types.ts";
import { openJournal } from "../journal/journal-records.ts";
import { AgentReports } from "./agent-reports.ts";
import { paneStatus } from "./pane-status.ts";
import { openSidecarAgent } from "./sidecar-agent.ts";

const OPTIONS = {
  ...{ cols: 40, rows: 6, rawBytes: 1_000_000, stallAfterMs: 600_000 },
  ...{ eventBuffer: 100, eventBytes: 100_000, redactPatterns: [] },
};
const RESERVE_BYTES = 64n * 1024n * 1024n;

let dir: string;
let clock: FakeClock;
let receipts: NudgeReceipt[];
let stops: StopRequest[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "gt-live-"));
  clock = new FakeClock();
  receipts = [];
  stops = [];
});
afterEach(() => rmSync(dir, { recursive: true }));

/** A serving half's view of the agent, over the journal that is in the folder by now. */
function serve() {
  const { journal, restored } = openJournal(join(dir, "journal"));
  const agent = openSidecarAgent(
    {
      ...{ clock, time: machineTime(clock), logger: silentLogger, profile: profileNamed("demo"), journal },
      isAttached: () => true,
      nudges: { held: () => {}, ended: (receipt) => void receipts.push(receipt) },
      onStop: (request) => void stops.push(request),
      versions: () => ({ tmux: "3.3a" }),
    },
    OPTIONS,
    restored,
  );
  return { agent, reports: new AgentReports(agent), lifecycle: agent.lifecycle, journal, restored };
}

type Half = ReturnType<typeof serve>;

function born({ reports, lifecycle }: Half, pid: number): void {
  reports.alive({ pid, fresh: lifecycle.found(pid, "a", clock.now()) });
}

function statusOf({ agent }: Pick<Half, "agent">) {
  const { lifecycle, terminal, messages, versions } = agent;
  const { output, monitor, people } = terminal;
  const numbers = { queueDepth: messages.mailbox.depth, attached: people.count, versions: versions() };
  return paneStatus({ lifecycle, output, report: monitor.report, ...numbers }, clock.now());
}

const nudge = (requestId: string, message = "hello"): NudgeRequest => ({
  ...{ requestId, message, mode: "queue", priority: "normal", sender: "ann", owner: "" },
  ...{ timeoutMs: 0, ttlMs: 0 },
});
const never = new AbortController().signal;

describe("the offsets of the output", () => {
  it("continue in the next process, after all that this one may have used", () => {
    const first = serve();
    first.agent.terminal.take(Buffer.from("seen by a watcher"));
    const next = serve();
    expect(next.agent.terminal.output.epoch).toBe(first.agent.terminal.output.epoch);
    expect(next.agent.terminal.output.ring.end).toBe(RESERVE_BYTES);
  });

  it("are reserved further before they are used up", () => {
    const { agent } = serve();
    const chunk = Buffer.alloc(8 * 1024 * 1024);
    for (let i = 0; i < 5; i++) agent.terminal.take(chunk);
    const { reservedTo = "0" } = openJournal(join(dir, "journal")).restored.stream ?? {};
    expect(BigInt(reservedTo) - agent.terminal.output.ring.end).toBeGreaterThanOrEqual(RESERVE_BYTES / 2n);
  });
});

describe("a run of the agent", () => {
  it("is reported by the status, from its start to its end", async () => {
    const half = serve();
    expect(statusOf(half)).toMatchObject({ alive: false, state: "starting", agentPid: 0, uptimeSeconds: 0 });
    born(half, 7);
    await clock.advance(90_500);
    expect(statusOf(half)).toMatchObject({ alive: true, agentPid: 7, uptimeSeconds: 90, restarts: 0 });
    half.lifecycle.ended({ code: 3 }, clock.now());
    half.reports.dead({ exit: { code: 3 }, restartDue: true, crashLoop: false });
    expect(statusOf(half)).toMatchObject({ alive: false, agentPid: 0, exitCode: 3, uptimeSeconds: 0 });
    expect(half.agent.terminal.ended).toBeUndefined();
    born(half, 8);
    expect(statusOf(half)).toMatchObject({ alive: true, agentPid: 8, restarts: 1 });
  });

  it("continues in the next process with its time and its restarts", async () => {
    const first = serve();
    born(first, 7);
    first.lifecycle.ended({ signal: 9 }, clock.now());
    born(first, 8);
    await clock.advance(10_000);
    const next = serve();
    born(next, 8);
    expect(statusOf(next)).toMatchObject({ agentPid: 8, restarts: 1, uptimeSeconds: 10 });
  });

  it("ends finally once, and watchers get the reason", () => {
    const half = serve();
    born(half, 7);
    half.reports.dead({ exit: { code: 0 }, restartDue: false, crashLoop: false });
    expect(half.agent.terminal.ended).toBe("the agent has ended");
    born(half, 8); // by a person
    expect(half.agent.terminal.ended).toBeUndefined();
  });

  it("changes its size only if tmux says so", async () => {
    const { agent } = serve();
    agent.terminal.sized({ cols: 50, rows: 9 });
    await agent.terminal.output.drawn();
    expect(statusOf({ agent })).toMatchObject({ cols: 50, rows: 9 });
  });
});

describe("the agent's own id of its conversation", () => {
  const idOf = (half: Half) => statusOf(half).agentSessionId;

  it("is known from its report on, also to the next process, until a new run reports another", () => {
    const half = serve();
    born(half, 7);
    expect(idOf(half)).toBeUndefined();
    half.reports.heard({ type: "session-start", agentSessionId: "c-1" });
    const next = serve();
    born(next, 7);
    expect(idOf(next)).toBe("c-1");
    next.lifecycle.ended({ code: 3 }, clock.now());
    expect(idOf(next)).toBe("c-1");
    born(next, 8);
    expect(idOf(next)).toBeUndefined();
    next.reports.heard({ type: "session", agentSessionId: "c-2" });
    expect(idOf(serve())).toBe("c-2");
  });

  it("may arrive before its process is found", () => {
    const half = serve();
    half.reports.heard({ type: "session", agentSessionId: "c-1" });
    born(half, 7);
    expect(idOf(half)).toBe("c-1");
  });
});

describe("a nudge", () => {
  it("is in the journal before it is accepted, and waits in the next process", async () => {
    await expect(serve().agent.messages.mailbox.send(nudge("n1"), never)).resolves.toMatchObject({ outcome: "queued" });
    const { agent } = serve();
    expect(agent.messages.mailbox.get("n1")).toMatchObject({ outcome: "queued", queuePosition: 1 });
    expect(statusOf({ agent }).queueDepth).toBe(1);
  });

  it("is refused while the journal cannot be written", async () => {
    const { agent, journal } = serve();
    journal.close();
    await expect(agent.messages.mailbox.send(nudge("n1"), never)).rejects.toMatchObject({ kind: "exhausted" });
    expect(statusOf({ agent }).queueDepth).toBe(0);
  });

  it("ends as AGENT_DEAD after the agent's final end, in the journal too", async () => {
    const half = serve();
    const stop = new AbortController();
    const running = Promise.all([
      half.agent.messages.mailbox.run(stop.signal),
      half.agent.terminal.monitor.run(stop.signal),
    ]);
    born(half, 7);
    const sent = half.agent.messages.mailbox.send({ ...nudge("n1"), mode: "wait-idle" }, never);
    half.lifecycle.finished({ code: 0 });
    half.reports.dead({ exit: { code: 0 }, restartDue: false, crashLoop: false });
    expect(await clock.until(sent)).toMatchObject({ outcome: "agent-dead" });
    expect(receipts.map(({ requestId, outcome }) => `${requestId} ${outcome}`)).toEqual(["n1 agent-dead"]);
    stop.abort();
    await running;
    expect(clock.sleeping).toBe(0);
    expect(serve().agent.messages.mailbox.get("n1")).toMatchObject({ outcome: "agent-dead" });
  });

  it("is made harmless by the agent's own profile", () => {
    const { agent } = serve();
    expect(agent.messages.clean("/help")).toMatchObject({ type: "safe", text: expect.not.stringMatching(/^\//) });
    expect(agent.messages.clean("plain")).toEqual({ type: "safe", text: "plain" });
  });
});

describe("an agent that must end without a restart", () => {
  it("is ended by the next process if it is still alive", () => {
    const first = serve();
    born(first, 7);
    void first.agent.stopper.stop({ graceMs: 0, force: true }, never).catch(() => {});
    const next = serve();
    expect(next.agent.stopper.asked.aborted).toBe(true);
    stops.length = 0;
    born(next, 7);
    expect(stops).toEqual([{ graceMs: 0, force: false }]);
  });
});

it("rewrites a complete journal after the file was removed", async () => {
  const half = serve();
  born(half, 7);
  await half.agent.messages.mailbox.send(nudge("n1"), never);
  rmSync(join(dir, "journal"));
  half.agent.journal.rewrite();
  const { restored } = openJournal(join(dir, "journal"));
  expect(restored.agent).toMatchObject({ pid: 7, restarts: 0 });
  expect(restored.stream?.epoch).toBe(half.agent.terminal.output.epoch);
  expect(restored.nudges.map((record) => record.type)).toEqual(["accepted"]);
});

it("starts its own epoch if no offset can be reserved", () => {
  const first = serve();
  const { journal, restored } = openJournal(join(dir, "journal"));
  journal.close();
  const agent = openSidecarAgent(
    {
      ...{ clock, time: machineTime(clock), logger: silentLogger, profile: profileNamed("demo"), journal },
      isAttached: () => true,
      ...{ nudges: { held: () => {}, ended: () => {} }, onStop: () => {}, versions: () => ({}) },
    },
    OPTIONS,
    restored,
  );
  expect(agent.terminal.output.epoch).not.toBe(first.agent.terminal.output.epoch);
});
