import { DomainError } from "../../base/errors.ts";
import type { RuntimeStatus } from "../domain/runtimes.ts";
import { type DoubtfulWake, mayTypeAgain } from "../domain/second-look.ts";
import type { WakeWorkerDeps } from "./wake-worker-deps.ts";

const AT_ONCE = 16;

/**
 * Looks once more at wakes that were typed without proof, a minute after: those of which nothing was read are tried
 * again, once, where the agent waits with an empty composer; the others stay UNKNOWN, for people to see.
 */
export async function lookAgain(deps: WakeWorkerDeps, signal: AbortSignal): Promise<void> {
  const { wakes, changes, logger } = deps;
  const looked = (await wakes.doubtful(AT_ONCE)).map(async (one) => {
    if (!mayTypeAgain(await statusOf(deps, one, signal)) || !(await wakes.tryAgain(one))) return;
    const { workspace, wakeId, agentId } = one;
    logger.info({ workspace, wake: wakeId, agent: agentId }, "a wake without proof is tried again");
    changes.publish({ workspace, kind: "wake", agents: [agentId] });
  });
  await Promise.all(looked);
}

async function statusOf(
  { runtimes, logger }: WakeWorkerDeps,
  { workspace, agentId }: DoubtfulWake,
  signal: AbortSignal,
): Promise<RuntimeStatus | undefined> {
  try {
    await using runtime = await runtimes.find(workspace, agentId, signal);
    return await runtime?.status(signal);
  } catch (err) {
    if (!(err instanceof DomainError) || signal.aborted) throw err;
    logger.debug({ err, agent: agentId }, "the agent's runtime does not answer");
    return undefined;
  }
}
