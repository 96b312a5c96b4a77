import { expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { CallerBudget } from "./caller-budget.ts";

it("allows each caller 256 at once and 50 a second, whatever others use", async () => {
  const clock = new FakeClock();
  const budget = new CallerBudget(clock);
  const taken = (share: string, count: number) => Array.from({ length: count }, () => budget.take(share));
  expect(taken("a", 300).filter(Boolean)).toHaveLength(256);
  expect(taken("b", 1)).toEqual([true]);
  await clock.advance(1000);
  expect(taken("a", 300).filter(Boolean)).toHaveLength(50);
});
