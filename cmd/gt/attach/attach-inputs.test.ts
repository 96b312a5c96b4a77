import { expect, it } from "vitest";
import { AttachInputs } from "./attach-inputs.ts";

const data = (text: string) => ({ type: "data", data: Buffer.from(text) }) as const;
const size = (cols: number) => ({ type: "resize", cols, rows: 24 }) as const;

async function all(inputs: AttachInputs): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const input of inputs) {
    found.push(input.type === "data" ? Buffer.from(input.data).toString() : `${input.cols}x${input.rows}`);
  }
  return found;
}

it("gives everything in order until its end, but only the last of the sizes", async () => {
  const inputs = new AttachInputs(new AbortController().signal);
  inputs.push(size(80));
  inputs.push(data("a"));
  inputs.push(size(90));
  const reading = all(inputs);
  await Promise.resolve();
  inputs.push(data("b"));
  inputs.end();
  expect(await reading).toEqual(["a", "90x24", "b"]);
});

it("refuses data that does not fit, and accepts it once there is room", async () => {
  const inputs = new AttachInputs(new AbortController().signal);
  expect(inputs.push(data("x".repeat(1024 * 1024)))).toBe(true);
  expect(inputs.push(data("y"))).toBe(false);
  expect(inputs.push(size(80))).toBe(true);
  const iterator = inputs[Symbol.asyncIterator]();
  await iterator.next();
  expect(inputs.push(data("y"))).toBe(true);
});

it("ends with its signal", async () => {
  const stop = new AbortController();
  const reading = all(new AttachInputs(stop.signal));
  stop.abort(new Error("enough"));
  expect(await reading).toEqual([]);
});
