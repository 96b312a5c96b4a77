import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { processLives } from "../../internal/process/process-lives.ts";
import { eventually } from "../support/eventually.ts";
import { runToEnd } from "../support/run-to-end.ts";

const MAIN = fileURLToPath(new URL("../support/guarded-start-main.ts", import.meta.url));

it("a process that was just started ends with the one that started it, although that is killed", async () => {
  const { stdout } = await runToEnd(process.execPath, [MAIN, randomUUID()], { timeoutMs: 60_000 });
  const pid = Number(stdout);
  expect(pid).toBeGreaterThan(1);
  onTestFinished(() => void (processLives(pid) && process.kill(pid, "SIGKILL")));
  await eventually("the process ends", () => !processLives(pid));
});
