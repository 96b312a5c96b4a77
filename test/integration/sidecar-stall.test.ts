import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { AgentState } from "../../internal/gen/gastown/v1/common_pb.ts";
import { startSidecar } from "../support/sidecar/sidecar.ts";

/**
 * The watch for work takes its second sample when an eighth of this time is left: enough on a machine that other tests
 * keep busy.
 */
const STALL_AFTER_MS = 12_000;

/** An agent that reports that it works, and prints nothing from then on. */
const silentAgent = (work: string) => ({
  agent: "generic",
  command: ["sh", "-c", `echo ready; sleep 0.3; echo activity >"$GT_HOOK_FIFO"; ${work}`],
  flags: ["--stall-after", `${STALL_AFTER_MS}ms`],
});

describe.concurrent("an agent that works without printing anything", () => {
  it("is stalled when it does nothing at all", async () => {
    await using sidecar = await startSidecar(silentAgent("exec sleep 600"));
    await sidecar.untilState(AgentState.BUSY);
    await sidecar.untilState(AgentState.STALLED);
    const { agentPhase } = await sidecar.client.status({});
    expect(agentPhase).toBe("stuck");
  });

  it.each([
    ["its child computes", "(while :; do :; done) & wait"],
    ["its transcript grows", "while :; do printf %4000s x >>transcript; sleep 0.1; done"],
  ])("is busy while %s", async (_, work) => {
    await using sidecar = await startSidecar(silentAgent(work));
    await sidecar.untilState(AgentState.BUSY);
    for (let i = 0; i < 20; i++) {
      expect((await sidecar.client.status({})).state).toBe(AgentState.BUSY);
      await sleep((1.5 * STALL_AFTER_MS) / 20);
    }
  });
});
