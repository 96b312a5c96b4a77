import { hasForgotten } from "../domain/reminder.ts";
import { agentStatus } from "./agent-status.ts";
import type { WakeWorkerDeps } from "./wake-worker-deps.ts";

const AT_ONCE = 64;

/**
 * Reminds agents that have been idle for two minutes without acknowledging messages that they were given. After two
 * reminders the messages are to be shown to people.
 */
export async function remindAgents(deps: WakeWorkerDeps, signal: AbortSignal): Promise<void> {
  const { wakes, changes, logger, clock } = deps;
  const looked = (await wakes.forgotten(AT_ONCE)).map(async (one) => {
    if (!hasForgotten(await agentStatus(deps, one, signal), clock.now()) || !(await wakes.remind(one))) return;
    const { workspace, agentId, threads } = one;
    const about = { workspace, agent: agentId, threads: threads.length };
    logger.info(about, "unacknowledged messages wait again, or are escalated to people");
    changes.publish({ workspace, kind: "wake", agents: [agentId] });
  });
  await Promise.all(looked);
}
