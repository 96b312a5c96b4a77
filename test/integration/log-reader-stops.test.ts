import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { AgentState } from "../../internal/gen/gastown/v1/common_pb.ts";
import { startSidecar, until } from "../support/sidecar/sidecar.ts";

const MESSAGES = 1200;
const SENDER = "s".repeat(200);

it("a reader of the log that stops reading stalls no call, and learns later how much it missed", async () => {
  await using sidecar = await startSidecar({ flags: ["--log-level", "info"] });
  await sidecar.untilState(AgentState.IDLE);
  sidecar.process.stderr?.pause();
  // Each is refused at once and logged with a line of about 400 bytes: more than a pipe and the bound hold.
  const refused = Array.from({ length: 8 }, async () => {
    for (let i = 0; i < MESSAGES / 8; i++) await sidecar.client.nudge({ message: "\x1b[31m", sender: SENDER });
  });
  await Promise.all(refused);
  const startedAt = performance.now();
  await sidecar.client.status({});
  expect(performance.now() - startedAt).toBeLessThan(1000);
  sidecar.process.stderr?.resume();
  const missed = () => /"lines":(\d+),"msg":"log lines were dropped/.exec(sidecar.log())?.[1];
  const count = Number(await until("the line about what was dropped", 20_000, async () => missed()));
  await sleep(200);
  const told = sidecar
    .log()
    .split("\n")
    .filter((line) => line.includes('"nudge ended"')).length;
  expect(told + count).toBeGreaterThanOrEqual(MESSAGES);
  for (const line of sidecar.log().split("\n")) if (line !== "") expect(() => JSON.parse(line), line).not.toThrow();
});
