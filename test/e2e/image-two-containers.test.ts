import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { AgentState, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { Containers, HARDENED, type RunningContainer } from "../support/cluster/containers.ts";
import { until } from "../support/sidecar/sidecar.ts";

const LIMIT_MS = 600_000;

it(
  "the two halves work as two containers that share only the state folder and the network",
  async (context) => {
    const containers = await Containers.here(context);
    const image = await containers.build("demo");
    await using folder = await sharedFolder();
    const options = [...HARDENED, "--volume", `${folder.path}:/run/gt`, "--env", "GT_SIDECAR_STATE_DIR=/run/gt/state"];
    await using serving = containers.run(image, { options, args: ["serve"] });
    await using supervising = containers.run(image, { options, args: ["supervise", "--grace", "8s"] });
    await untilIdle(serving);
    const before = await serving.client.status({});
    const first = await serving.client.nudge({ message: "from next door", requestId: "one" });
    expect(first.outcome).toBe(NudgeOutcome.SUBMITTED);

    // The serving container is killed and comes back: the same agent, every receipt.
    await serving.kill();
    await using again = containers.run(image, { options, args: ["serve"] });
    await untilIdle(again);
    const after = await again.client.status({});
    expect([after.agentPid, after.epoch]).toEqual([before.agentPid, before.epoch]);
    expect((await again.client.getNudge({ requestId: "one" })).outcome).toBe(NudgeOutcome.SUBMITTED);

    // StopAgent reaches the agent in the other container, which then exits with the agent's code.
    const stopped = await again.client.stopAgent({ graceMs: 8000n });
    expect(stopped).toMatchObject({ exitCode: 0, alreadyStopped: false });
    expect(await supervising.exited).toBe(0);
  },
  LIMIT_MS,
);

async function untilIdle(container: RunningContainer): Promise<void> {
  const idle = async () => {
    const status = await container.client.status({}, { timeoutMs: 2000 }).catch(() => undefined);
    return status?.state === AgentState.IDLE || undefined;
  };
  await until("an idle agent", 90_000, idle, container.log);
}

/** A folder like a pod's emptyDir: writable for the pod's group. */
async function sharedFolder() {
  const path = await mkdtemp(join(tmpdir(), "gt-shared-"));
  await chmod(path, 0o777);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}
