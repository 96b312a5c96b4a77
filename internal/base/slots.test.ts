import { expect, it } from "vitest";
import { Slots } from "./slots.ts";

const never = new AbortController().signal;

/** Functions that run until they are ended by name. */
function works(slots: Slots) {
  const running = new Map<string, () => void>();
  const add = (name: string, signal = never) =>
    slots.hold(() => new Promise<string>((resolve) => running.set(name, () => resolve(name))), signal);
  const end = async (name: string) => {
    running.get(name)?.();
    running.delete(name);
    await new Promise(setImmediate);
  };
  return { add, end, running: () => [...running.keys()] };
}

it("runs a limited number of calls at a time, and the others in their order", async () => {
  const { add, end, running } = works(new Slots(2));
  const all = ["a", "b", "c", "d"].map((name) => add(name));
  expect(running()).toEqual(["a", "b"]);
  await end("b");
  expect(running()).toEqual(["a", "c"]);
  await end("a");
  await end("c");
  await end("d");
  expect(await Promise.all(all)).toEqual(["a", "b", "c", "d"]);
});

it("passes the slot of a call that fails, and the turn of a call that is aborted, to the next", async () => {
  const slots = new Slots(1);
  const { add, end, running } = works(slots);
  const leaving = new AbortController();
  const failed = slots.hold(() => Promise.reject(new Error("no")), never);
  const left = add("left", leaving.signal);
  const last = add("last");
  leaving.abort(new Error("gone"));
  await expect(failed).rejects.toThrow("no");
  await expect(left).rejects.toThrow("gone");
  await new Promise(setImmediate);
  expect(running()).toEqual(["last"]);
  await end("last");
  expect(await last).toBe("last");
});
