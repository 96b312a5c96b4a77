import { statSync } from "node:fs";
import { join } from "node:path";
import { kill } from "node:process";
import { expect, it } from "vitest";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { NudgeMode } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { demoCommand, RESTART_MS, startSidecar, until } from "../support/sidecar/sidecar.ts";

it("a held message is kept for the restarted agent when the agent dies directly before it is typed", async () => {
  await using sidecar = await startSidecar();
  const submitted: string[] = [];
  for (let life = 0; life < 3; life++) {
    await sidecar.untilState(AgentState.IDLE);
    const { agentPid } = await sidecar.client.status({});
    kill(agentPid, "SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, 40)); // by then tmux knows of it, but not the sidecar
    const requestId = `life-${life}`;
    await sidecar.client.nudge({ message: requestId, requestId, mode: NudgeMode.QUEUE });
    const end = await until("its end", 60_000, async () => {
      const receipt = await sidecar.client.getNudge({ requestId });
      return receipt.outcome === NudgeOutcome.QUEUED ? undefined : receipt;
    });
    // UNKNOWN if the text was typed before tmux noticed the death. AGENT_DEAD would be wrong: the agent restarts.
    expect([NudgeOutcome.SUBMITTED, NudgeOutcome.UNKNOWN]).toContain(end.outcome);
    if (end.outcome === NudgeOutcome.SUBMITTED) submitted.push(requestId);
  }
  expect(submitted).not.toEqual([]);
  expect(await sidecar.taken()).toEqual(submitted);
});

it("the screen of a killed agent does not count as a sign of its restart", { timeout: 300_000 }, async () => {
  const flags = ["--alternate-screen", "--faults", "slow-start=3000"];
  await using sidecar = await startSidecar((dir) => ({ command: demoCommand(dir, ...flags) }));
  const submitted: string[] = [];
  for (let life = 0; life < 3; life++) {
    await sidecar.untilState(AgentState.IDLE);
    const { agentPid } = await sidecar.client.status({});
    kill(agentPid, "SIGKILL");
    await until("the next life", 60_000, async () => {
      const status = await sidecar.client.status({});
      return (status.agentPid !== 0 && status.agentPid !== agentPid) || undefined;
    });
    const requestId = `life-${life}`;
    const { outcome } = await sidecar.client.nudge({ message: requestId, requestId });
    expect(outcome).toBe(NudgeOutcome.SUBMITTED);
    submitted.push(requestId);
  }
  expect(await sidecar.taken()).toEqual(submitted);
});

it("the receipts of many long messages are kept with little of their text", { timeout: 180_000 }, async () => {
  // The turn does not end, so that no message is typed before it is cancelled.
  await using sidecar = await startSidecar((dir) => ({ command: demoCommand(dir, "--turn-ms", "3600000") }));
  await sidecar.untilState(AgentState.IDLE);
  await sidecar.client.nudge({ message: "begin", mode: NudgeMode.IMMEDIATE });
  await sidecar.untilState(AgentState.BUSY);
  const message = `\t${"x".repeat(65_000)}`;
  for (let i = 0; i < 800; i++) {
    const requestId = `long-${i}`;
    await sidecar.client.nudge({ message, requestId, mode: NudgeMode.QUEUE });
    await sidecar.client.cancelNudge({ requestId });
  }
  const pid = sidecar.servingPid();
  kill(pid, "SIGKILL");
  await until("another serving half", RESTART_MS, async () => {
    const status = await sidecar.client.status({}, { timeoutMs: 1000 }).catch(() => undefined);
    return (status !== undefined && sidecar.servingPid() !== pid) || undefined;
  });
  expect(statSync(join(sidecar.stateDir, "journal.jsonl")).size).toBeLessThan(8 * 1024 * 1024); // 100 MiB were written
  for (const requestId of ["long-0", "long-799"]) {
    expect((await sidecar.client.nudge({ message, requestId })).requestId).toBe(requestId);
    await expect(sidecar.client.nudge({ message: "another", requestId })).rejects.toThrow("belongs to another message");
  }
});
