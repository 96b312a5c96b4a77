import { describe, expect, it } from "vitest";
import { NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import { startSidecar } from "../support/sidecar/sidecar.ts";

/** Does not echo its input, so that its prompt's contents are unknown. */
const SILENT = ["sh", "-c", "stty -echo; echo ready; exec cat"];

describe("an unknown program", () => {
  it("gets nothing appended to a text with an unknown outcome until someone presses keys", {
    timeout: 60_000,
  }, async () => {
    await using sidecar = await startSidecar({ agent: "generic", command: SILENT });
    const { client } = sidecar;
    const nudge = async (message: string, timeoutMs: bigint) => (await client.nudge({ message, timeoutMs })).outcome;
    expect(await nudge("the first", 30_000n)).toBe(NudgeOutcome.UNKNOWN);
    expect(await nudge("the second", 5000n)).toBe(NudgeOutcome.COMPOSER_BUSY);
    process.kill(sidecar.servingPid(), "SIGKILL");
    await expect.poll(() => client.status({}).catch(() => undefined), { timeout: 60_000 }).toBeDefined();
    expect(await nudge("the third", 5000n)).toBe(NudgeOutcome.COMPOSER_BUSY);
    await client.sendKeys({ keys: ["C-u"] });
    expect(await nudge("the fourth", 100n)).toBe(NudgeOutcome.QUEUED);
  });
});
