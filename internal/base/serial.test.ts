import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { Serial } from "./serial.ts";

it("runs the calls one after the other, in their order", async () => {
  const clock = new FakeClock();
  const serial = new Serial();
  const steps: string[] = [];
  const work = (name: string, ms: number) =>
    serial.inTurn(async () => {
      steps.push(`${name} begins`);
      await clock.sleep(ms);
      steps.push(`${name} ends`);
      return name;
    });
  expect(await clock.until(Promise.all([work("slow", 100), work("quick", 1)]))).toEqual(["slow", "quick"]);
  expect(steps).toEqual(["slow begins", "slow ends", "quick begins", "quick ends"]);
});

it("reports a failure to its own caller only, and continues", async () => {
  const serial = new Serial();
  const failed = serial.inTurn(() => Promise.reject(new Error("no")));
  const next = serial.inTurn(() => Promise.resolve("yes"));
  await expect(failed).rejects.toThrow("no");
  expect(await next).toBe("yes");
});
