import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { aborted } from "./abort.ts";
import { runTasks, type Task } from "./task-group.ts";

function lingering(ended: string[], name: string, clock: FakeClock): Task {
  return {
    run: async (signal) => {
      await aborted(signal);
      await clock.sleep(50);
      ended.push(name);
    },
  };
}

it("stops all tasks when its signal is aborted, and waits for each", async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const ended: string[] = [];
  const running = runTasks(stop.signal, [lingering(ended, "a", clock), lingering(ended, "b", clock)]);
  stop.abort(new Error("enough"));
  await clock.until(running);
  expect(ended).toEqual(["a", "b"]);
});

it("stops the other tasks when one ends early, and waits for them", async () => {
  const clock = new FakeClock();
  const ended: string[] = [];
  const early: Task = { run: () => Promise.resolve() };
  await clock.until(runTasks(new AbortController().signal, [lingering(ended, "a", clock), early]));
  expect(ended).toEqual(["a"]);
});

it("throws the first failure after all tasks have ended", async () => {
  const clock = new FakeClock();
  const ended: string[] = [];
  const failing: Task = { run: () => Promise.reject(new Error("broken")) };
  const alsoFailing: Task = {
    run: async (signal) => {
      await aborted(signal);
      throw new Error("broken later");
    },
  };
  const running = runTasks(new AbortController().signal, [lingering(ended, "a", clock), failing, alsoFailing]);
  await expect(clock.until(running)).rejects.toThrow(/^broken$/);
  expect(ended).toEqual(["a"]);
});

it("does not treat the reason of the abort as a failure", async () => {
  const stop = new AbortController();
  const clock = new FakeClock();
  const running = runTasks(stop.signal, [{ run: (signal) => clock.sleep(1000, signal) }]);
  stop.abort(new Error("enough"));
  await running;
  expect(clock.sleeping).toBe(0);
});
