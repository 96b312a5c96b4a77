import { expect, it } from "vitest";
import { AgentState } from "../../internal/gen/gastown/v1/common_pb.ts";
import { calmTime } from "../support/calm-time.ts";
import { startSidecar, until } from "../support/sidecar/sidecar.ts";

const MESSAGES = 1200;
const SENDER = "s".repeat(200);

it("a log reader that stops reading stalls no call, and learns later how much it missed", async () => {
  await using sidecar = await startSidecar({ flags: ["--log-level", "info"] });
  await sidecar.untilState(AgentState.IDLE);
  sidecar.process.stderr?.pause();
  // Each is refused at once and logged with a line of about 400 bytes: together more than a pipe and the limit hold.
  const refused = Array.from({ length: 8 }, async () => {
    for (let i = 0; i < MESSAGES / 8; i++) await sidecar.client.nudge({ message: "\x1b[31m", sender: SENDER });
  });
  await Promise.all(refused);
  const passed = calmTime();
  await sidecar.client.status({});
  expect(passed()).toBeLessThan(1000);
  sidecar.process.stderr?.resume();
  const lines = () => sidecar.log().split("\n").slice(0, -1);
  const told = () => lines().filter((line) => line.includes('"nudge ended"')).length;
  const missed = () =>
    lines().reduce((sum, line) => sum + Number(/"lines":(\d+),"msg":"log lines were dropped/.exec(line)?.[1] ?? 0), 0);
  await until(
    "all lines, reported or counted",
    30_000,
    () => (missed() > 0 && told() + missed() >= MESSAGES) || undefined,
  );
  for (const line of lines()) expect(() => JSON.parse(line), line).not.toThrow();
});
