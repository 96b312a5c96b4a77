import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { NudgeMode } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { demoCommand, RESTART_MS, type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";

const UNKNOWN = { outcome: NudgeOutcome.UNKNOWN };

/** tmux continues a pane's stopped process, but not that process's children. */
const start = (...flags: string[]) =>
  startSidecar((dir) => ({ command: ["sh", "-c", '"$@"; exit $?', "sh", ...demoCommand(dir)], flags }));

async function agentOf({ client }: RunningSidecar): Promise<number> {
  const { agentPid } = await client.status({});
  const [child = ""] = (await readFile(`/proc/${agentPid}/task/${agentPid}/children`, "latin1")).split(" ");
  expect(child, "the agent's program").not.toBe(""); // as a number that is 0: this test's own process group
  return Number(child);
}

/** The agent's state once the sidecar has noticed that a typed text is not drawn. */
const undrawn = ({ client }: RunningSidecar) =>
  until("a text that is not drawn", 30_000, async () => {
    const { state, evidence } = await client.status({});
    return evidence[0]?.value.includes("drawn nothing") ? state : undefined;
  });

/** Stops the agent until it is disposed of. */
async function stopped(sidecar: RunningSidecar): Promise<Disposable> {
  await sidecar.untilState(AgentState.IDLE);
  const pid = await agentOf(sidecar);
  process.kill(pid, "SIGSTOP");
  await until("its standstill", 30_000, async () => {
    const isStopped = (await readFile(`/proc/${pid}/stat`, "latin1")).includes(") T ");
    return isStopped || undefined;
  });
  return { [Symbol.dispose]: () => process.kill(pid, "SIGCONT") };
}

const endOf = ({ client }: RunningSidecar, requestId: string) =>
  until(`an end of ${requestId}`, 30_000, async () => {
    const receipt = await client.getNudge({ requestId });
    return receipt.outcome === NudgeOutcome.QUEUED ? undefined : receipt;
  });

describe("an agent that hangs while a message is typed to it", () => {
  it("gets no more text, is never idle, and takes only the next message when it continues", async () => {
    await using sidecar = await start("--stall-after", "5s");
    const { client } = sidecar;
    const states = new Set<AgentState>();
    {
      using _frozen = await stopped(sidecar);
      const first = client.nudge({ message: "the first one", requestId: "first" });
      states.add(await undrawn(sidecar));
      await until("a stall", 30_000, async () => {
        const { state, evidence } = await client.status({});
        states.add(state);
        expect(evidence[0]?.value).toContain("drawn nothing");
        return state === AgentState.STALLED || undefined;
      });
      expect(await first).toMatchObject(UNKNOWN);
      expect([...states]).toEqual([AgentState.UNCERTAIN, AgentState.STALLED]);
      const immediate = await client.nudge({ message: "now", mode: NudgeMode.IMMEDIATE });
      expect(immediate).toMatchObject({ outcome: NudgeOutcome.COMPOSER_BUSY });
      expect(immediate.timings?.typedMs ?? 0n).toBe(0n);
      const waits = await client.nudge({ message: "the next one", requestId: "next", timeoutMs: 1000n });
      expect(waits).toMatchObject({ outcome: NudgeOutcome.QUEUED });
    }
    expect(await endOf(sidecar, "next")).toMatchObject({ outcome: NudgeOutcome.SUBMITTED });
    await sidecar.untilState(AgentState.IDLE);
    expect(await sidecar.taken()).toEqual(["the next one"]);
    expect((await client.status({})).draft).toBe(false);
  });

  it("gets its text submitted when it continues before the receipt is given", async () => {
    await using sidecar = await start();
    let receipt: ReturnType<typeof sidecar.client.nudge>;
    {
      using _frozen = await stopped(sidecar);
      receipt = sidecar.client.nudge({ message: "late but whole" });
      await undrawn(sidecar);
    }
    expect(await receipt).toMatchObject({ outcome: NudgeOutcome.SUBMITTED });
    expect(await sidecar.taken()).toEqual(["late but whole"]);
  });

  it("takes only the next message after a kill of the serving half, too", async () => {
    await using sidecar = await start();
    const { client } = sidecar;
    {
      using _frozen = await stopped(sidecar);
      const call = client.nudge({ message: "the first one", requestId: "first" }).catch(() => undefined);
      await undrawn(sidecar);
      process.kill(sidecar.servingPid(), "SIGKILL");
      await call;
      const again = await until("its successor", RESTART_MS, () =>
        client.nudge({ message: "the next one", requestId: "next", timeoutMs: 6000n }).catch(() => undefined),
      );
      expect(again).toMatchObject({ outcome: NudgeOutcome.QUEUED });
      expect(await endOf(sidecar, "first")).toMatchObject(UNKNOWN);
      expect((await client.status({})).state).toBe(AgentState.UNCERTAIN);
    }
    expect(await endOf(sidecar, "next")).toMatchObject({ outcome: NudgeOutcome.SUBMITTED });
    expect(await sidecar.taken()).toEqual(["the next one"]);
  });
});
