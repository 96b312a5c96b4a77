import { expect, it } from "vitest";
import { HeldInputs } from "./held-inputs.ts";

const input = (requestId: number) => ({ requestId: String(requestId), text: "x" });

it("returns the oldest first, and refuses the fifty-first", () => {
  const held = new HeldInputs();
  for (let id = 0; id < 50; id++) held.add(input(id));
  expect(() => held.add(input(50))).toThrow("50 messages are already waiting for the agent");
  expect(held.shift()).toEqual(input(0));
  held.add(input(50));
  expect(held.drain().map(({ requestId }) => Number(requestId))).toEqual(Array.from({ length: 50 }, (_, i) => i + 1));
  expect(held.isEmpty).toBe(true);
});
