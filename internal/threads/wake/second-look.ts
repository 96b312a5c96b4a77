import { mayTypeAgain } from "../domain/second-look.ts";
import { agentStatus } from "./agent-status.ts";
import type { WakeWorkerDeps } from "./wake-worker-deps.ts";

const AT_ONCE = 16;

/**
 * Looks again at wakes that were typed without proof a minute or more ago, and whose agents have not read or posted
 * since. Tries each again, once, if its agent is idle with an empty composer; the others stay UNKNOWN, for people to
 * see.
 */
export async function lookAgain(deps: WakeWorkerDeps, signal: AbortSignal): Promise<void> {
  const { wakes, changes, logger } = deps;
  const looked = (await wakes.doubtful(AT_ONCE)).map(async (one) => {
    if (!mayTypeAgain(await agentStatus(deps, one, signal)) || !(await wakes.tryAgain(one))) return;
    const { workspace, wakeId, agentId } = one;
    logger.info({ workspace, wake: wakeId, agent: agentId }, "retrying a wake with an unknown outcome");
    changes.publish({ workspace, kind: "wake", agents: [agentId] });
  });
  await Promise.all(looked);
}
