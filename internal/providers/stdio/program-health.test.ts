import { expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { Redactor } from "../../base/redact.ts";
import type { CommandResult, RunCommand } from "../../process/run-command.ts";
import { ProgramHealth } from "./program-health.ts";

function program(answer: () => Promise<CommandResult>, binary = process.execPath) {
  const clock = new FakeClock();
  const asked: (readonly string[])[] = [];
  const limits: number[] = [];
  const run: RunCommand = async (_file, args, { timeoutMs }) => {
    asked.push(args);
    limits.push(timeoutMs);
    return answer();
  };
  const options = {
    ...{ provider: "demo", binary, versionArgs: ["main.ts"], cwd: "/", env: { PATH: "/nowhere" } },
    startupTimeoutMs: 45_000,
  };
  return {
    clock,
    asked,
    limits,
    health: new ProgramHealth(
      { clock, run, redactor: new Redactor(["key=.*"]), guard: { watch: () => () => {} } },
      options,
    ),
  };
}

const printed = async (): Promise<CommandResult> => ({ type: "exit", code: 0, stdout: "demo 1.2.3\n", stderr: "" });

it("reports the version, and requests it once a minute", async () => {
  const { clock, asked, health } = program(printed);
  const healthy = { available: true, error: "", version: "1.2.3" };
  expect(await Promise.all([health.check(), health.check()])).toEqual([healthy, healthy]);
  expect(asked).toEqual([["main.ts", "--version"]]);
  await clock.advance(59_000);
  await health.check();
  expect(asked).toHaveLength(1);
  await clock.advance(2_000);
  await health.check();
  expect(asked).toHaveLength(2);
  expect(clock.sleeping).toBe(0);
});

it("answers within two seconds even if the program does not", async () => {
  const { clock, health } = program(() => new Promise(() => {}));
  const check = health.check();
  await clock.advance(2_000);
  expect(await check).toEqual({ available: true, error: "", version: "" });
});

it("answers with the known version while the program takes longer to report it again", async () => {
  const answers = [printed, () => new Promise<CommandResult>(() => {})];
  const { clock, health } = program(() => (answers.shift() ?? printed)());
  await health.check();
  await clock.advance(61_000);
  const check = health.check();
  await clock.advance(2_000);
  expect(await check).toEqual({ available: true, error: "", version: "1.2.3" });
});

it("allows the program as much time for its version as for its start", async () => {
  const { limits, health } = program(printed);
  await health.check();
  expect(limits).toEqual([45_000]);
});

it.each<[CommandResult, string]>([
  [{ type: "missing" }, "its interpreter is missing"],
  [{ type: "failed", reason: "took longer than 10000 ms" }, "--version took longer than 10000 ms"],
  [{ type: "exit", code: 1, stdout: "", stderr: "" }, "--version ended with 1"],
  [{ type: "exit", code: 1, stdout: "", stderr: "no\nlicence key=1\n" }, "ended with 1: no licence [redacted]"],
])("is not available after %j", async (result, error) => {
  const { health } = program(async () => result);
  expect(await health.check()).toMatchObject({ available: false, error: expect.stringContaining(error) as string });
});

it("is not available without a program, and starts none", async () => {
  const { asked, health } = program(printed, "no-such-program");
  expect(await health.check()).toEqual({
    available: false,
    error: 'no program "no-such-program" found',
    version: "",
  });
  expect(asked).toEqual([]);
});
