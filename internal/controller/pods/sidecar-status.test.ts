import { expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { sidecarStatus } from "./sidecar-status.ts";

const never = new AbortController().signal;

it("ends a call for the status after 3 s", async () => {
  const clock = new FakeClock();
  const signals: AbortSignal[] = [];
  const unary = ((_method: unknown, _request: unknown, _caller: unknown, signal: AbortSignal) => {
    signals.push(signal);
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
  }) as never;
  const asked = sidecarStatus({ unary }, clock, never);
  await expect(clock.until(asked)).rejects.toMatchObject({ kind: "deadline" });
  expect(clock.monotonicMs()).toBe(3_000);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
});
