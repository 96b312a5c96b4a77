import { expect, it } from "vitest";
import { rotateUnderLoad } from "../support/bridge/rotation-load.ts";

it("no call fails while leaf, key, CA, token key and revocation list are replaced under load", async () => {
  const { calls, failed } = await rotateUnderLoad({ callers: 8, rounds: 1, stepMs: 600 });
  expect(failed).toEqual([]);
  expect(calls).toBeGreaterThan(100);
});
