import { kill } from "node:process";
import { expect, it } from "vitest";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { NudgeMode } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { startSidecar, until } from "../support/sidecar.ts";

it("keeps a held message for the next life of an agent that died right before it was typed", async () => {
  await using sidecar = await startSidecar();
  const submitted: string[] = [];
  for (let life = 0; life < 3; life++) {
    await sidecar.untilState(AgentState.IDLE);
    const { agentPid } = await sidecar.client.status({});
    kill(agentPid, "SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, 40)); // tmux knows of it then, the sidecar not yet
    const requestId = `life-${life}`;
    await sidecar.client.nudge({ message: requestId, requestId, mode: NudgeMode.QUEUE });
    const end = await until("its end", 20_000, async () => {
      const receipt = await sidecar.client.getNudge({ requestId });
      return receipt.outcome === NudgeOutcome.QUEUED ? undefined : receipt;
    });
    // Typed into a terminal that tmux did not know to be dead: nobody can tell. Dead for good it never was.
    expect([NudgeOutcome.SUBMITTED, NudgeOutcome.UNKNOWN]).toContain(end.outcome);
    if (end.outcome === NudgeOutcome.SUBMITTED) submitted.push(requestId);
  }
  expect(submitted).not.toEqual([]);
  expect(await sidecar.taken()).toEqual(submitted);
});
