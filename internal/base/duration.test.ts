import { expect, it } from "vitest";
import { parseDurationMs } from "./duration.ts";

it.each([
  ["0", 0],
  ["0s", 0],
  ["300ms", 300],
  ["1.5s", 1500],
  ["10m", 600_000],
  ["2h45m", 9_900_000],
  ["1h0m0.5s", 3_600_500],
  ["0.4ms", 0],
  [".5s", 500],
  ["1.s", 1000],
  ["1500us", 2],
  ["2500\u00b5s", 3],
  ["3000000ns", 3],
])("reads %s as %d ms", (text, ms) => {
  expect(parseDurationMs(text)).toBe(ms);
});

it.each(["", "5", "-1s", "1 s", "s", "1d", ".s", "1..5s", "1s ", "1sx", "ms", "1e3s", "١s"])("refuses %j", (text) => {
  expect(() => parseDurationMs(text)).toThrow(
    expect.objectContaining({ kind: "invalid", message: expect.stringContaining(JSON.stringify(text)) }),
  );
});
