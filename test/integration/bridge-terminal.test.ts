import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SessionStatus } from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { markedProcesses } from "../../internal/process/marked-processes.ts";
import { readOrEmpty } from "../../internal/process/proc-files.ts";
import { BridgeFolder, type RunningBridge } from "../support/bridge/bridge-folder.ts";
import { until } from "../support/sidecar/sidecar.ts";

let folder: BridgeFolder;
let bridge: RunningBridge;
beforeAll(async () => {
  folder = await BridgeFolder.create();
  const fails = folder.path("fails");
  writeFileSync(fails, '#!/bin/sh\n[ "$1" = --version ] && exec echo 1.0\necho no such conversation\nexit 3\n', {
    mode: 0o700,
  });
  bridge = await folder.start({ providers: { claude: { binary: fails } } });
});
afterAll(() => folder[Symbol.asyncDispose]());

const client = () => folder.client(bridge, folder.prd);
const start = (sessionId: string, agentOpts: Record<string, string> = { mode: "terminal" }, provider = "demo") =>
  client().startSession({
    ...{ projectId: "prd-manager", sessionId, provider, repoPath: folder.path("repos/one"), agentOpts },
  });
const statusOf = async (sessionId: string) => (await client().getSession({ sessionId })).status;
/**
 * The running programs of sessions, which inherit the HOME that the bridge is started with; without the bridge itself,
 * and without programs that are asked for their version.
 */
const agents = () =>
  markedProcesses("HOME", folder.dir).filter((pid) => pid !== bridge.process.pid && !isAskedForItsVersion(pid));
const isAskedForItsVersion = (pid: number) => readOrEmpty(`/proc/${pid}/cmdline`).split("\0").includes("--version");
const folders = () => readdirSync(folder.path("state/t"));
const sidecars = () =>
  folders().map((name) => {
    const record = JSON.parse(readFileSync(folder.path("state/t", name, "session.json"), "utf8")) as { pid: number };
    return record.pid;
  });

/**
 * Ends every program of a session. The sidecars come last, because the bridge starts another as long as there is
 * anything to continue with; they are stopped first, so that they start nothing meanwhile.
 */
function killAgents(): void {
  const last = sidecars();
  for (const pid of last) signal(pid, "SIGSTOP");
  for (const pid of agents()) if (!last.includes(pid)) signal(pid, "SIGKILL");
  for (const pid of last) signal(pid, "SIGKILL");
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // it ended together with a process that was killed before
  }
}

async function untilStatus(sessionId: string, status: SessionStatus): Promise<void> {
  const reached = async () => ((await statusOf(sessionId)) === status ? true : undefined);
  await until(`status ${status}`, 30_000, reached, bridge.log);
}

describe("a terminal session", () => {
  it("runs, takes input whose receipt names the caller, shows its screen, and stops without leftovers", async () => {
    await start("t1");
    await untilStatus("t1", SessionStatus.RUNNING);
    const sent = await client().sendInput({ sessionId: "t1", text: "hello there" });
    expect(sent).toMatchObject({ accepted: true, outcome: NudgeOutcome.SUBMITTED });
    expect(sent.seq).toBeGreaterThan(0n);
    const { output } = await client().peek({ sessionId: "t1", request: { lines: 40 } });
    expect(output).toContain("hello there");
    const nudged = await client().nudge({ sessionId: "t1", request: { message: "and again", requestId: "n1" } });
    expect(nudged.outcome).toBe(NudgeOutcome.SUBMITTED);
    expect((await client().status({ sessionId: "t1" })).sessionId).toBe("t1");
    const types: number[] = [];
    const senders: string[] = [];
    const reading = (async () => {
      for await (const event of client().streamEvents({ sessionId: "t1" })) {
        types.push(event.type);
        if (event.receipt) senders.push(event.receipt.sender);
        if (event.done) return true;
      }
      return false;
    })();
    await client().stopSession({ sessionId: "t1" });
    await untilStatus("t1", SessionStatus.STOPPED);
    expect(await reading).toBe(true);
    expect(senders).toContain("prd-manager/app via unix");
    expect(folders()).toEqual([]);
  });

  it("is refused, and leaves nothing behind, with an option that its agent accepts only over stdio", async () => {
    const refused = start("t0", { mode: "terminal", raw: "true" });
    await expect(refused).rejects.toMatchObject({
      code: Code.InvalidArgument,
      rawMessage: expect.stringContaining("no option"),
    });
    await expect(statusOf("t0")).rejects.toMatchObject({ code: Code.NotFound });
  });

  it("streams its output as it is printed", async () => {
    await start("t2");
    await untilStatus("t2", SessionStatus.RUNNING);
    const stop = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const update of client().watchOutput(
        { sessionId: "t2", request: { lines: 40 } },
        { signal: stop.signal },
      ))
        seen.push(update.output);
    })().catch(() => {});
    await client().sendInput({ sessionId: "t2", text: "marker-of-mine" });
    await until(
      "the text on the screen",
      30_000,
      () => seen.some((text) => text.includes("marker-of-mine")) || undefined,
    );
    stop.abort();
    await watching;
    await client().stopSession({ sessionId: "t2", force: true });
    await untilStatus("t2", SessionStatus.STOPPED);
  });

  it("of another project does not exist for the caller", async () => {
    await start("t3");
    await untilStatus("t3", SessionStatus.RUNNING);
    const other = folder.client(bridge, folder.ndara);
    await expect(other.peek({ sessionId: "t3" })).rejects.toMatchObject({ code: 5 });
    await expect(other.stopSession({ sessionId: "t3" })).rejects.toMatchObject({ code: 5 });
    expect((await other.listSessions({})).sessions).toEqual([]);
    await client().stopSession({ sessionId: "t3" });
    await untilStatus("t3", SessionStatus.STOPPED);
  });

  it("continues when its sidecar is killed, and fails when its agent is killed too", async () => {
    await start("t5");
    await untilStatus("t5", SessionStatus.RUNNING);
    const { epoch } = await client().getSession({ sessionId: "t5" });
    await client().sendInput({ sessionId: "t5", text: "before the kill" });
    const [killed] = sidecars();
    process.kill(killed as number, "SIGKILL");
    await until("another sidecar", 30_000, () => sidecars().some((pid) => pid !== killed) || undefined);
    const send = () => client().sendInput({ sessionId: "t5", text: "after the kill", idempotencyKey: "a1" });
    const sent = await until("it takes input", 30_000, () => send().catch(() => undefined));
    expect(sent.outcome).toBe(NudgeOutcome.SUBMITTED);
    expect(await client().getSession({ sessionId: "t5" })).toMatchObject({ epoch, restarts: 0 });
    expect((await client().peek({ sessionId: "t5", request: {} })).output).toContain("before the kill");
    killAgents();
    await untilStatus("t5", SessionStatus.FAILED);
    expect((await client().getSession({ sessionId: "t5" })).error).toBe("its sidecar was ended by SIGKILL");
    expect(agents()).toEqual([]);
    expect(folders()).toEqual([]);
  });

  it("fails with the reason when its program does not start", async () => {
    await start("t4", { mode: "terminal" }, "claude");
    await untilStatus("t4", SessionStatus.FAILED);
    expect((await client().getSession({ sessionId: "t4" })).error).toBe(
      "claude ended with exit code 3 as it started: no such conversation",
    );
    expect(folders()).toEqual([]);
  });
});

it("a terminal session survives a killed bridge with its events and positions, or fails with a reason", async () => {
  for (const id of ["k1", "k2"]) await start(id);
  for (const id of ["k1", "k2"]) await untilStatus(id, SessionStatus.RUNNING);
  await client().sendInput({ sessionId: "k1", text: "before the kill" });
  const before = await client().getSession({ sessionId: "k1" });
  bridge.process.kill("SIGKILL");
  await bridge.exited;
  bridge = await folder.start(folder.path("bridge.yaml"));
  await untilStatus("k1", SessionStatus.RUNNING);
  const after = await client().getSession({ sessionId: "k1" });
  expect(after).toMatchObject({ epoch: before.epoch, repoPath: before.repoPath, agentOpts: { mode: "terminal" } });
  expect(after.createdAt).toEqual(before.createdAt);
  const sent = await client().sendInput({ sessionId: "k1", text: "after the kill" });
  expect(sent.outcome).toBe(NudgeOutcome.SUBMITTED);
  expect(sent.seq).toBeGreaterThan(before.lastSeq);
  expect((await client().peek({ sessionId: "k1", request: { lines: 50 } })).output).toContain("before the kill");
  await client().stopSession({ sessionId: "k1" });
  await untilStatus("k1", SessionStatus.STOPPED);
  killAgents();
  await untilStatus("k2", SessionStatus.FAILED);
  expect((await client().getSession({ sessionId: "k2" })).error).toBe("its sidecar ended without a message");
  expect(folders()).toEqual([]);
});

it("a session over standard streams fails at the next bridge, and the processes of its agent end", async () => {
  await start("s1", {});
  await untilStatus("s1", SessionStatus.RUNNING);
  const before = agents();
  expect(before).not.toEqual([]);
  bridge.process.kill("SIGKILL");
  await bridge.exited;
  bridge = await folder.start(folder.path("bridge.yaml"));
  await untilStatus("s1", SessionStatus.FAILED);
  expect(await client().getSession({ sessionId: "s1" })).toMatchObject({
    ...{ provider: "demo", repoPath: folder.path("repos/one") },
    error: expect.stringContaining("the bridge ended during the session"),
  });
  const events = [];
  for await (const event of client().streamEvents({ sessionId: "s1" })) events.push(event);
  expect(events).toMatchObject([{ sessionId: "s1", done: true }]);
  expect(agents().filter((pid) => before.includes(pid))).toEqual([]);
});

it("every session stops with the bridge on SIGTERM", async () => {
  await start("e1");
  await start("e2", {});
  await untilStatus("e1", SessionStatus.RUNNING);
  await untilStatus("e2", SessionStatus.RUNNING);
  bridge.process.kill("SIGTERM");
  expect(await bridge.exited).toBe(0);
  expect(folders()).toEqual([]);
  expect(agents()).toEqual([]);
  expect(readdirSync(folder.path("state/sessions"))).toEqual([]);
});
