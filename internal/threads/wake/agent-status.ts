import { DomainError } from "../../base/errors.ts";
import type { RuntimeStatus } from "../domain/runtimes.ts";
import type { WakeWorkerDeps } from "./wake-worker-deps.ts";

/** Returns the current status of an agent; undefined: no runtime of the agent answers. */
export async function agentStatus(
  { runtimes, logger }: Pick<WakeWorkerDeps, "runtimes" | "logger">,
  { workspace, agentId }: { readonly workspace: string; readonly agentId: string },
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
