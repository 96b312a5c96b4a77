import { expect, it } from "vitest";
import { parseStrictJson } from "./strict-json.ts";

it.each([
  ['{"a": 1, "b": {"a": 2}}', { a: 1, b: { a: 2 } }],
  ['[{"a": 1}, {"a": 2}]', [{ a: 1 }, { a: 2 }]],
  ['{"a": "\\"a\\": {", "b": "a"}', { a: '"a": {', b: "a" }],
  ["7", 7],
])("reads %s", (text, value) => {
  expect(parseStrictJson(text)).toEqual(value);
});

it.each([
  '{"a": 1, "a": 1}',
  '{"a": 1, "\\u0061": 2}',
  '{"x": {"a": 1, "b": [], "a": 2}}',
  '[{}, {"a" : {}, "a"\n: {}}]',
  '{"__proto__": 1, "__proto__": 2}',
])("refuses a duplicate key: %s", (text) => {
  expect(() => parseStrictJson(text)).toThrow("duplicate key");
});

it("does not quote invalid JSON", () => {
  expect(() => parseStrictJson("{secret")).toThrow(/^not JSON$/);
});
