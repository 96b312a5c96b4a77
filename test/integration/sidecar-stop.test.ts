import { readFile } from "node:fs/promises";
import { kill } from "node:process";
import { describe, expect, it } from "vitest";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { calmTime } from "../support/calm-time.ts";
import { demoCommand, type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";

const LINGER = ["--linger", "60s"];
/** A program that ignores all signals but KILL. */
const STUBBORN = ["sh", "-c", "trap '' INT TERM HUP QUIT; echo up; while :; do sleep 1; done"];

const stop = (sidecar: RunningSidecar, graceMs: number, force = false) =>
  sidecar.client.stopAgent({ graceMs: BigInt(graceMs), force });

describe("StopAgent", () => {
  it("refuses a grace time below zero; ends the agent, keeps it ended, serves for the linger time, and reports its end", async () => {
    await using sidecar = await startSidecar({ flags: ["--restart", "always", ...LINGER] });
    await sidecar.untilState(AgentState.IDLE);
    const { agentPid } = await sidecar.client.status({});
    await expect(stop(sidecar, -1)).rejects.toThrow("grace_ms");
    expect(isAlive(agentPid)).toBe(true);
    expect(await stop(sidecar, 10_000)).toMatchObject({ exitCode: 0, signal: "", alreadyStopped: false });
    expect(isAlive(agentPid)).toBe(false);
    const nudge = await sidecar.client.nudge({ message: "too late" });
    expect(nudge.outcome).toBe(NudgeOutcome.AGENT_DEAD);
    expect(await sidecar.client.status({})).toMatchObject({ state: AgentState.DEAD, sessionAlive: false, exitCode: 0 });
    expect(await stop(sidecar, 10_000)).toMatchObject({ exitCode: 0, alreadyStopped: true });
  });

  it("kills an agent that ignores signals after the grace time, until which it is stopping and takes nothing", async () => {
    await using sidecar = await startSidecar({
      agent: "generic",
      command: STUBBORN,
      flags: ["--restart", "always", ...LINGER],
    });
    await sidecar.untilState(AgentState.UNCERTAIN);
    const before = performance.now();
    const stopped = stop(sidecar, 8000);
    await sidecar.untilState(AgentState.STOPPING);
    expect((await sidecar.client.nudge({ message: "too late" })).outcome).toBe(NudgeOutcome.AGENT_DEAD);
    expect(await stopped).toMatchObject({ exitCode: 137, signal: "SIGKILL", alreadyStopped: false });
    expect(performance.now() - before).toBeGreaterThan(2000);
  });

  it("kills at once when it is forced", async () => {
    await using sidecar = await startSidecar({ agent: "generic", command: STUBBORN, flags: LINGER });
    await sidecar.untilState(AgentState.UNCERTAIN);
    const gentle = stop(sidecar, 60_000);
    await sidecar.untilState(AgentState.STOPPING);
    expect(await stop(sidecar, 0, true)).toMatchObject({ exitCode: 137, signal: "SIGKILL", alreadyStopped: false });
    expect(await gentle).toMatchObject({ signal: "SIGKILL" });
  });

  it("cancels a pending restart", async () => {
    const command = ["sh", "-c", "exit 7"];
    await using sidecar = await startSidecar({ agent: "generic", command, flags: ["--restart", "always", ...LINGER] });
    // The third pause is long enough to be met on a busy machine.
    await until("its third end", 60_000, () => sidecar.log().includes('"delay_ms":4000') || undefined);
    expect(await stop(sidecar, 1000)).toMatchObject({ exitCode: 7, signal: "", alreadyStopped: true });
    await new Promise((resolve) => setTimeout(resolve, 5000));
    expect(await sidecar.client.status({})).toMatchObject({ state: AgentState.DEAD, exitCode: 7, restarts: 2 });
  });

  it("continues after a kill of the serving half, and the sidecar exits with the agent's code", async () => {
    const command = ["sh", "-c", "trap 'sleep 6; exit 9' TERM; trap '' INT; echo up; while :; do sleep 0.1; done"];
    await using sidecar = await startSidecar({ agent: "generic", command, flags: ["--restart", "always"] });
    await sidecar.untilState(AgentState.UNCERTAIN);
    const pid = sidecar.servingPid();
    const stopped = stop(sidecar, 20_000).catch(() => "cut");
    await sidecar.untilState(AgentState.STOPPING);
    await new Promise((resolve) => setTimeout(resolve, 300)); // the order is on its way
    kill(pid, "SIGKILL");
    expect(await stopped).toBe("cut");
    expect(await sidecar.exited).toBe(9);
    expect(sidecar.log().split("agent stopped")).toHaveLength(2); // it is logged once
  });
});

describe("a signal to the sidecar", () => {
  it.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "(%s) ends streams with a reason and the agent gracefully, and the sidecar exits with the agent's code",
    async (signal) => {
      await using sidecar = await startSidecar((dir) => ({ command: demoCommand(dir) }));
      await sidecar.untilState(AgentState.IDLE);
      const { agentPid } = await sidecar.client.status({});
      const { last } = await openStream(sidecar);
      sidecar.process.kill(signal);
      expect(await last).toContain("shutting down");
      expect(await sidecar.exited).toBe(0);
      expect(isAlive(agentPid)).toBe(false);
    },
  );

  it("(TERM) kills an agent that ignores signals within the grace time", async () => {
    await using sidecar = await startSidecar({ agent: "generic", command: STUBBORN });
    await sidecar.untilState(AgentState.UNCERTAIN);
    const { agentPid } = await sidecar.client.status({});
    const passed = calmTime();
    sidecar.process.kill("SIGTERM");
    expect(await sidecar.exited).toBe(137);
    expect(passed()).toBeLessThan(5000);
    expect(isAlive(agentPid)).toBe(false);
  });

  it("that ends the agent becomes the exit code 128 + n", async () => {
    const command = ["sh", "-c", "echo up; exec sleep 1000"];
    await using sidecar = await startSidecar({ agent: "generic", command });
    await sidecar.untilState(AgentState.UNCERTAIN);
    sidecar.process.kill("SIGTERM");
    expect(await sidecar.exited).toBe(143);
  });
});

/** A stream that has begun, and the reason with which it will end. */
async function openStream(sidecar: RunningSidecar) {
  const updates = sidecar.client.watchOutput({ lines: 1 })[Symbol.asyncIterator]();
  await updates.next();
  const last = async () => {
    let reason = "";
    for (let next = await updates.next(); next.done !== true; next = await updates.next())
      reason = next.value.endReason;
    return reason;
  };
  return { last: last() };
}

function isAlive(pid: number): boolean {
  try {
    return kill(pid, 0);
  } catch {
    return false;
  }
}

it("SIGTERM while tmux is stopped ends the agent gracefully, and the exit code is the agent's", async () => {
  const command = ["sh", "-c", "trap 'exit 9' TERM; trap '' INT; echo up; while :; do sleep 0.1; done"];
  await using sidecar = await startSidecar({ agent: "generic", command, flags: ["--restart", "never"] });
  await sidecar.untilState(AgentState.UNCERTAIN);
  const { agentPid } = await sidecar.client.status({});
  const tmux = Number(/\) \S (\d+)/.exec(await readFile(`/proc/${agentPid}/stat`, "utf8"))?.[1]);
  kill(tmux, "SIGSTOP");
  sidecar.signal("SIGTERM");
  expect(await sidecar.exited).toBe(9);
  expect(isAlive(agentPid)).toBe(false);
});
