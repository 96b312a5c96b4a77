import { expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { FrameRates } from "./frame-rates.ts";

const place = (agentId: string) => ({ lane: { sessionId: "s", role: "r" }, agentId });

it("permits each agent 10,000 frames at once and then 1,000 a second, over all its connections", async () => {
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

it("calls an agent too fast if it exceeds the rate for a minute without a second's pause", async () => {
  const clock = new FakeClock();
  const rate = new FrameRates({ clock }).of(place("a"));
  const flood = async (ms: number) => {
    for (let i = 0; i < ms; i += 500) {
      for (let j = 0; j < 600; j++) rate.count();
      await clock.advance(500);
    }
  };
  for (let i = 0; i < 10_000; i++) rate.count();
  await flood(50_000);
  await clock.advance(rate.restMs + 1500);
  await flood(50_000);
  expect(rate.isTooFast).toBe(false);
  await flood(15_000);
  expect(rate.isTooFast).toBe(true);
});
