import { asObjects, asText, type Json } from "../../../../internal/base/json-fields.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { printJson, printWake } from "../../../../internal/threads/client/show.ts";
import { isOpenWake } from "../../../../internal/threads/domain/types.ts";
import type { CallOperation } from "./with-threads.ts";

export const WAKE_WAIT_MS = 60_000;
const LOOK_MS = 300;
const NOT_YET = 5;
const NO_PROOF = 7;

/**
 * Waits until the newest wake of each recipient has ended, at most `forMs`, and prints these wakes. Returns the exit
 * code: 0, 5 if one has not ended, 7 if one has failed or has no proof.
 */
export async function untilWoken(
  call: CallOperation,
  { clock, out, signal }: CommandContext,
  {
    recipients,
    json,
    forMs,
  }: { readonly recipients: readonly string[]; readonly json: boolean; readonly forMs: number },
): Promise<number> {
  const end = clock.monotonicMs() + forMs;
  for (;;) {
    const wakes = await newestOf(call, recipients);
    const isOver = wakes.every((wake) => !isOpenWake(asText(wake["state"])));
    if (!isOver && clock.monotonicMs() < end) {
      await clock.sleep(LOOK_MS, signal);
      continue;
    }
    for (const wake of wakes) {
      if (json) printJson(out, wake);
      else printWake(out, wake);
    }
    if (wakes.some((wake) => ["UNKNOWN", "FAILED"].includes(asText(wake["state"])))) return NO_PROOF;
    return isOver ? 0 : NOT_YET;
  }
}

async function newestOf(call: CallOperation, recipients: readonly string[]): Promise<readonly Json[]> {
  const found = await Promise.all(
    recipients.map(async (agent) => asObjects((await call("list_wakes", { agent_id: agent, limit: 1 }))["wakes"])[0]),
  );
  return found.filter((one) => one !== undefined);
}
