import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AgentEvent } from "../../internal/bridge/provider.ts";
import { processLives } from "../../internal/process/process-lives.ts";
import { makeProvider, ProviderSession } from "../support/agents/provider-session.ts";
import { calmTime } from "../support/calm-time.ts";
import { LongestTurn } from "../support/sidecar/longest-turn.ts";

const program = fileURLToPath(new URL("../fakes/hostile-agent-main.ts", import.meta.url));
const hostProgram = fileURLToPath(new URL("../fakes/provider-host-main.ts", import.meta.url));
let dir = "";

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "gt-providers-hostile-"));
});

afterAll(() => rm(dir, { recursive: true, force: true }));

function agent(way: string, startupTimeoutMs = 30_000) {
  const leading = ["--disable-warning=ExperimentalWarning", program, way];
  return makeProvider({ provider: "demo", binary: process.execPath, leading, startupTimeoutMs });
}

function start(way: string, follow = true): Promise<ProviderSession> {
  return ProviderSession.start(agent(way), dir, {}, follow);
}

const bytesLost = (events: readonly AgentEvent[]) =>
  events.reduce((sum, event) => sum + (event.type === "lost" ? event.bytes : 0), 0);

async function until(isSo: () => boolean): Promise<void> {
  for (const end = performance.now() + 20_000; !isSo(); ) {
    if (performance.now() > end) throw new Error("not within 20 s");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function childOf(session: ProviderSession): Promise<number> {
  await session.until("the child", ({ text }) => /child \d+/.test(text));
  return Number(/child (\d+)/.exec(session.text)?.[1]);
}

describe.concurrent("an agent that misbehaves", () => {
  it("exits at once: the start fails with its code and reason, without secrets", async () => {
    await expect(start("exits-at-once")).rejects.toMatchObject({
      kind: "precondition",
      message: "the agent ended with code 3 before it accepted messages: no licence for [redacted]",
    });
  });

  it("hangs at its start: it is killed at the time limit", async () => {
    const passed = calmTime();
    await expect(ProviderSession.start(agent("hangs-at-start", 700), dir)).rejects.toMatchObject({ kind: "deadline" });
    expect(passed()).toBeLessThan(5_000);
  });

  it("hangs at its start: nothing is left running when the caller gives up", async () => {
    const stop = new AbortController();
    const config = { project: "test", sessionId: "aborted", repoPath: dir, cwd: dir, options: {} };
    const started = agent("hangs-at-start").start(config, stop.signal);
    setTimeout(() => stop.abort(new Error("not wanted any more")), 300);
    await expect(started).rejects.toThrow("not wanted any more");
  });

  it("hangs at --version: the provider's health is reported without a version", async () => {
    const provider = agent("hangs-at-version", 6_000);
    const passed = calmTime();
    const health = await provider.health(new AbortController().signal);
    expect(health).toEqual({ available: true, error: "", version: "" });
    expect(passed()).toBeLessThan(5_000);
    // It is killed at its own time limit.
    while ((await provider.health(new AbortController().signal)).available) {
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  });

  it("never confirms a message: the outcome is unknown, and the message is sent only once", async () => {
    await using session = await start("never-answers");
    const answer = session.send("hello", "n-1");
    await session.until("the turn", ({ phases }) => phases.includes("busy"));
    process.kill(session.handle.pid, "SIGKILL");
    expect(await answer).toMatchObject({ outcome: "unknown" });
    expect(await session.send("hello", "n-1")).toMatchObject({ outcome: "unknown" });
  });

  it("ignores TERM: it is killed within the grace period", async () => {
    await using session = await start("ignores-term");
    const startedAt = performance.now();
    const passed = calmTime();
    await session.provider.stop(session.handle, 2_000);
    expect(performance.now() - startedAt).toBeGreaterThan(1_500);
    expect(passed()).toBeLessThan(5_000);
    await session.read;
    expect(session.text).toContain("not now");
    expect(session.last).toEqual({ type: "ended" });
    expect(processLives(session.handle.pid)).toBe(false);
  });

  it.each([
    ["forks", "stop"],
    ["forks", "kill"],
    ["daemonises", "stop"],
    ["daemonises", "kill"],
  ])("%s, and its child ignores TERM: %s ends the child too", async (way, how) => {
    await using session = await start(way);
    await session.send("go", "f-1");
    const child = await childOf(session);
    expect(processLives(child)).toBe(true);
    await session.provider.stop(session.handle, how === "stop" ? 1_000 : 0);
    expect(processLives(child)).toBe(false);
    await session.read;
    expect(session.events.filter((event) => event.type === "ended")).toHaveLength(1);
  });

  it("exits and leaves a child with its pipes: the end is reported, and the child is ended", async () => {
    await using session = await start("forks-and-exits");
    await session.send("go", "x-1");
    const child = await childOf(session);
    await session.read;
    expect(session.last).toEqual({ type: "ended", exitCode: 0 });
    expect(processLives(child)).toBe(false);
  });

  it.each(["forks", "daemonises"])("%s: nothing stays running when its holder is ended by SIGKILL", async (way) => {
    const host = spawn(
      process.execPath,
      ["--disable-warning=ExperimentalWarning", hostProgram, process.execPath, program, way],
      {
        cwd: dir,
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    let printed = "";
    host.stdout.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
    });
    await until(() => /child \d+/.test(printed));
    const [agent = 0, child = 0] = (/agent (\d+)[\s\S]*child (\d+)/.exec(printed) ?? []).slice(1).map(Number);
    expect([agent, child].map(processLives)).toEqual([true, true]);
    host.kill("SIGKILL");
    await until(() => ![agent, child].some(processLives));
  });

  it("closes its output and continues: it is stopped, and its session fails with that reason", async () => {
    await using session = await start("closes-its-output");
    expect(await session.send("go", "c-1")).toMatchObject({ outcome: "submitted" });
    await session.read;
    expect(session.last).toMatchObject({ type: "ended", error: "the agent closed its output, and was stopped" });
    expect(processLives(session.handle.pid)).toBe(false);
  });

  it("dies in the middle of a line: the partial line is shown, and the signal is named", async () => {
    await using session = await start("dies-in-mid-line");
    await session.send("go", "d-1");
    await session.read;
    expect(session.text).toContain('{"type":"text","text":"half a li\n');
    expect(session.last).toEqual({ type: "ended", error: "the agent was ended by SIGKILL" });
  });
});

describe("an agent that prints too much", () => {
  it("floods: nothing is lost, the event loop continues, and an unread stream holds the agent back", async () => {
    await using session = await start("floods", false);
    const before = process.memoryUsage().rss;
    await session.send("go", "f-1");
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
    using turn = new LongestTurn();
    let characters = 0;
    for await (const event of session.provider.events(session.handle)) {
      if (event.type === "output") characters += event.text.length;
      if (event.type === "phase" && event.state === "idle" && characters > 0) break;
    }
    expect(characters % 121).toBe(0);
    expect(characters).toBeGreaterThan(30_000_000);
    expect(turn.ms).toBeLessThan(100);
  });

  it("prints 100 MB on one line: its beginning is shown, the rest is counted, and the event loop continues", async () => {
    await using session = await start("long-line");
    const before = process.memoryUsage().rss;
    using turn = new LongestTurn();
    await session.send("go", "l-1");
    await session.turns(1);
    const shown = session.text.indexOf("yyyy");
    expect(shown).toBeGreaterThanOrEqual(0);
    expect(session.text.length - shown + bytesLost(session.events)).toBeGreaterThanOrEqual(100 * 1024 * 1024);
    expect(session.text.length).toBeLessThan(100_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(96 * 1024 * 1024);
    expect(turn.ms).toBeLessThan(100);
  });
});
