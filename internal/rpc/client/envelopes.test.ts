import { expect, it } from "vitest";
import { Envelopes, enveloped } from "./envelopes.ts";

const MESSAGES = ["", "a", "bc".repeat(40), "end"].map((text) => Buffer.from(text));

it.each([1, 2, 5, 6, 7, 100])("finds every message if the bytes arrive %d at a time", (size) => {
  const bytes = Buffer.concat(MESSAGES.map(enveloped));
  const envelopes = new Envelopes(1000);
  const found: string[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    for (const { payload } of envelopes.push(bytes.subarray(at, at + size))) found.push(payload.toString());
  }
  expect(found).toEqual(MESSAGES.map(String));
  expect(envelopes.isOpen).toBe(false);
});

it("refuses a message that is too large before it has arrived", () => {
  expect(() => [...new Envelopes(10).push(enveloped(Buffer.alloc(11)).subarray(0, 5))]).toThrow("larger than 10");
});
