import { expect, it } from "vitest";
import { SharedCall } from "./shared-call.ts";

const never = new AbortController().signal;

it("makes one call for simultaneous callers, and another for those who ask while it is being answered", async () => {
  const answers: PromiseWithResolvers<number>[] = [];
  const shared = new SharedCall<number>(() => {
    const answer = Promise.withResolvers<number>();
    answers.push(answer);
    return answer.promise;
  });
  const together = [shared.ask(never), shared.ask(never)];
  await new Promise(setImmediate);
  expect(answers).toHaveLength(1);
  const later = shared.ask(never);
  await new Promise(setImmediate);
  expect(answers).toHaveLength(2);
  answers[0]?.resolve(1);
  answers[1]?.resolve(2);
  expect(await Promise.all([...together, later])).toEqual([1, 1, 2]);
});

it("is stopped when no caller is waiting for it", async () => {
  const signals: AbortSignal[] = [];
  const shared = new SharedCall<never>((signal) => {
    signals.push(signal);
    return new Promise(() => {});
  });
  const stops = [new AbortController(), new AbortController()];
  const asked = stops.map(({ signal }) => shared.ask(signal));
  await new Promise(setImmediate);
  stops[0]?.abort();
  await expect(asked[0]).rejects.toThrow();
  expect(signals[0]?.aborted).toBe(false);
  stops[1]?.abort();
  await expect(asked[1]).rejects.toThrow();
  expect(signals[0]?.aborted).toBe(true);
});
