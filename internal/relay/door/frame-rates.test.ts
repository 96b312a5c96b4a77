import { expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { FrameRates } from "./frame-rates.ts";

const place = (agentId: string) => ({ lane: { sessionId: "s", role: "r" }, agentId });

it("lets 10,000 frames come at once and then 1,000 a second, of each agent over all its connections", async () => {
  const clock = new FakeClock();
  const rates = new FrameRates({ clock });
  const first = rates.of(place("a"));
  for (let i = 0; i < 10_000; i++) first.count();
  expect(first.restMs).toBe(0);
  const second = rates.of(place("a"));
  for (let i = 0; i < 2000; i++) second.count();
  expect([first.restMs, second.restMs, rates.of(place("b")).restMs]).toEqual([2000, 2000, 0]);
  await clock.advance(1500);
  expect(second.restMs).toBe(500);
  await clock.advance(60_000);
  for (let i = 0; i < 10_000; i++) second.count();
  expect(second.restMs).toBe(0);
});
