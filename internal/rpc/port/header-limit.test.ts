import { expect, it } from "vitest";
import { hasTooManyHeaders } from "./header-limit.ts";

it.each([
  ["nothing", [], false],
  ["the usual headers of a caller", ["content-type", "application/proto", "user-agent", "x".repeat(100)], false],
  ["one header that just fits", ["a", "b".repeat(16_384 - 33)], false],
  ["one byte more", ["a", "b".repeat(16_384 - 32)], true],
  ["many short headers", Array(1000).fill("a"), true],
])("%s", (_, headers, tooMany) => {
  expect(hasTooManyHeaders(headers)).toBe(tooMany);
});
