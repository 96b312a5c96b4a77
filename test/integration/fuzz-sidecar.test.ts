import { expect, it } from "vitest";
import { fuzzSidecar } from "../fuzz/sidecar.ts";

it("damaged requests, hook lines, link lines and journals cause no restart and lose no agent", async (context) => {
  const options = { seed: 3, inputs: 300, say: () => {} };
  expect(await fuzzSidecar(options, context.signal)).toEqual([]);
});
