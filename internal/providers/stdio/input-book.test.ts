import { expect, it } from "vitest";
import type { InputOutcome } from "../../bridge/provider.ts";
import { InputBook } from "./input-book.ts";

const submitted: InputOutcome = { outcome: "submitted", error: "" };

it("delivers an id once, even while its first input is in progress", async () => {
  const book = new InputBook();
  let given = 0;
  const give = async () => {
    given++;
    return submitted;
  };
  expect(await Promise.all([book.once("a", give), book.once("a", give)])).toEqual([submitted, submitted]);
  expect(await book.once("a", give)).toEqual(submitted);
  expect(given).toBe(1);
});

it("lets a refused id be tried again", async () => {
  const book = new InputBook();
  await expect(book.once("a", () => Promise.reject(new Error("full")))).rejects.toThrow("full");
  expect(await book.once("a", async () => submitted)).toEqual(submitted);
});

it("forgets the oldest ids above its limit", async () => {
  const book = new InputBook();
  for (let id = 0; id <= 10_000; id++) await book.once(String(id), async () => submitted);
  let isGiven = false;
  const give = async () => {
    isGiven = true;
    return submitted;
  };
  await book.once("1", give);
  expect(isGiven).toBe(false);
  await book.once("0", give);
  expect(isGiven).toBe(true);
});
