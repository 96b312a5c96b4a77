import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { AgentState, DialogKind, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { NudgeMode } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { calmTime } from "../support/calm-time.ts";
import { programFile } from "../support/programs.ts";
import { runToEnd } from "../support/run-to-end.ts";
import { demoCommand, type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";
import { inItsTmux } from "../support/sidecar/sidecar-hands.ts";

const withFlags = (...flags: string[]) => startSidecar((dir) => ({ command: demoCommand(dir, ...flags) }));

/** Every state that is reported within that time. */
async function told(sidecar: RunningSidecar, ms: number): Promise<ReadonlySet<AgentState>> {
  const states = new Set<AgentState>();
  for (const end = performance.now() + ms; performance.now() < end; await sleep(20)) {
    states.add((await sidecar.client.status({})).state);
  }
  return states;
}

describe("a dialog at the start", () => {
  it("is reported within two seconds, and a message is refused at once", async () => {
    await using sidecar = await withFlags("--trust-dialog");
    const passed = calmTime();
    await sidecar.untilState(AgentState.DIALOG);
    // Its own report may come before it has drawn the dialog.
    const dialog = await until("the dialog", 30_000, async () => (await sidecar.client.status({})).dialog);
    expect(dialog.kind).toBe(DialogKind.TRUST);
    const refused = await sidecar.client.nudge({ message: "hello" });
    expect(refused.outcome).toBe(NudgeOutcome.BLOCKED_BY_DIALOG);
    expect(passed()).toBeLessThan(2000);
    expect(await sidecar.taken()).toEqual([]);
  });
});

describe("an unanswered dialog", () => {
  it("is reported as stuck with the time of its start, as long as it stays", async () => {
    await using sidecar = await startSidecar();
    await sidecar.client.nudge({ message: "please run: x" });
    await sidecar.untilState(AgentState.DIALOG);
    const look = () =>
      // Its own report may come before it has drawn the dialog.
      until("the dialog", 30_000, async () => {
        const status = await sidecar.client.status({}).catch(() => undefined);
        return status?.dialog && status;
      });
    // A serving half that restarted meanwhile on a busy machine counts from its own first look.
    const [first, later] = await until("two looks of one serving half", 60_000, async () => {
      const pid = sidecar.servingPid();
      const before = await look();
      await sleep(1500);
      const after = await look();
      return sidecar.servingPid() === pid ? ([before, after] as const) : undefined;
    });
    expect(later).toMatchObject({ state: AgentState.DIALOG, agentPhase: "stuck", stateSince: first.stateSince });
    expect(later.dialog).toEqual(first.dialog);
  });
});

describe("a misleading screen", () => {
  it("whose spinner turns while the agent rests is reported as idle, and the agent accepts a message", async () => {
    await using sidecar = await withFlags("--faults", "spinner-always");
    await sidecar.untilState(AgentState.IDLE);
    expect([...(await told(sidecar, 1000))]).toEqual([AgentState.IDLE]);
    expect((await sidecar.client.nudge({ message: "hello" })).outcome).toBe(NudgeOutcome.SUBMITTED);
    expect(await sidecar.taken()).toEqual(["hello"]);
  });

  it("without a sign of work for 900 ms between two steps is not reported as idle", async () => {
    await using sidecar = await withFlags("--faults", "flicker-idle=900", "--turn-ms", "20000", "--steps", "16");
    await sidecar.untilState(AgentState.IDLE);
    await sidecar.client.nudge({ message: "work" });
    expect([...(await told(sidecar, 4000))]).not.toContain(AgentState.IDLE);
  });
});

describe("an idle agent", () => {
  it("gets a message without delay", async () => {
    await using sidecar = await startSidecar();
    await sidecar.untilState(AgentState.IDLE);
    const passed = calmTime();
    const { outcome, timings } = await sidecar.client.nudge({ message: "hello" });
    const isWaited = Number(timings?.typedMs) >= 500;
    expect(outcome).toBe(NudgeOutcome.SUBMITTED);
    // On a machine that runs other tests it may have had to wait for a core.
    if (isWaited) expect(passed()).toBeLessThan(500);
  });

  it("is reported again soon after an interrupt, and after one of its own commands", async () => {
    await using sidecar = await withFlags("--turn-ms", "20000");
    await sidecar.untilState(AgentState.IDLE);
    await sidecar.client.nudge({ message: "work long on this" });
    await sidecar.untilState(AgentState.BUSY);
    await sidecar.client.sendKeys({ keys: ["Escape"] });
    const passed = calmTime();
    await sidecar.untilState(AgentState.IDLE);
    expect(passed()).toBeLessThan(3000);
    await sidecar.client.sendKeys({ text: "/status" });
    await sidecar.client.sendKeys({ keys: ["Enter"] });
    await until("its answer", 30_000, async () => {
      const { output } = await sidecar.client.peek({ lines: 50 });
      return output.includes(" queued · idle") || undefined;
    });
    await sidecar.untilState(AgentState.IDLE);
    expect(await sidecar.taken()).toEqual(["work long on this"]);
  });
});

describe("meaningless lines in the hook FIFO", () => {
  it("change no state", async () => {
    await using sidecar = await startSidecar();
    await sidecar.client.nudge({ message: "hello" });
    await sidecar.untilState(AgentState.IDLE);
    const fifo = join(sidecar.stateDir, "hooks.fifo");
    const lines = ['{"type":"progress"}', "working", "tool_use: Bash", "prompt-submittedX", "\u0000\u0007", ""];
    await writeFile(fifo, `${lines.join("\n")}\n`, { flag: "a" });
    expect([...(await told(sidecar, 700))]).toEqual([AgentState.IDLE]);
  });
});

describe("tmux", () => {
  it("may hang for three seconds: the agent is neither reported as dead nor restarted, and accepts a message afterwards", async () => {
    await using sidecar = await startSidecar();
    await sidecar.untilState(AgentState.IDLE);
    const pid = Number((await inItsTmux(sidecar, "display-message", "-p", "#{pid}")).trim());
    process.kill(pid, "SIGSTOP");
    try {
      const states = await told(sidecar, 3000);
      expect([...states]).not.toContain(AgentState.DEAD);
    } finally {
      process.kill(pid, "SIGCONT");
    }
    const receipt = await sidecar.client.nudge({ message: "still there?", timeoutMs: 20_000n });
    expect(receipt.outcome).toBe(NudgeOutcome.SUBMITTED);
    expect((await sidecar.client.status({})).restarts).toBe(0);
  });
});

describe("an agent that cannot be started", () => {
  it("is reported in one line with exit code 127, and not retried forever", async () => {
    const dir = await mkdtemp(join(tmpdir(), "gt-none-"));
    try {
      const listen = ["--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0", "--state-dir", join(dir, "state")];
      const args = [programFile("gt-sidecar"), "--agent", "generic", ...listen, "--", "no-such-agent-program"];
      const env = { PATH: process.env["PATH"], HOME: dir, LANG: "C.UTF-8", XDG_RUNTIME_DIR: dir };
      const ended = await runToEnd(process.execPath, args, { env, timeoutMs: 30_000 });
      expect(ended).toMatchObject({ code: 127, stderr: expect.stringContaining("no-such-agent-program") });
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  });
});

describe("an agent that keeps ending", () => {
  it("is reported as a crash loop, a held message waits for the restart, and no caller is blocked", async () => {
    await using sidecar = await startSidecar({
      command: ["sh", "-c", "sleep 0.05; exit 3"],
      flags: ["--restart", "always"],
    });
    await sidecar.untilState(AgentState.CRASH_LOOP);
    const status = await sidecar.client.status({});
    expect(status.agentPhase).toBe("stuck");
    expect(status.restarts).toBeGreaterThan(0);
    const held = await sidecar.client.nudge({ message: "later", requestId: "later", mode: NudgeMode.QUEUE });
    expect(held.outcome).toBe(NudgeOutcome.QUEUED);
    const now = await until("a refusal", 20_000, async () => {
      const { outcome } = await sidecar.client.nudge({ message: "now", timeoutMs: 1000n });
      return outcome === NudgeOutcome.AGENT_DEAD || undefined;
    });
    expect(now).toBe(true);
  });
});
