import { describe, expect, it } from "vitest";
import { canonicalJson, isObject, readJson, writeJson } from "./json-text.ts";

describe("readJson", () => {
  it.each([
    '{"big":9007199254740993,"exact":1.10,"exponent":1e3,"small":-0,"plain":12}',
    '{"__proto__":{"polluted":true},"constructor":1}',
    '["é","\\u0000",{"nested":[]}]',
  ])("keeps %s unchanged", (text) => {
    expect(writeJson(readJson(text))).toBe(text);
  });

  it("leaves the prototypes of objects alone", () => {
    const value = readJson('{"__proto__":{"polluted":true}}');
    expect(isObject(value)).toBe(true);
    expect((value as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it.each<[string, string]>([
    ["no JSON", "{"],
    ["empty", ""],
    ["a lone surrogate", '"\\ud800"'],
    ["a lone surrogate in a key", '{"\\udfff":1}'],
    ["nesting that is too deep", "[".repeat(101) + "]".repeat(101)],
    ["a megabyte of brackets", "[".repeat(1024 * 1024)],
  ])("refuses %s", (_what, text) => {
    expect(readJson(text)).toBeUndefined();
  });

  it("counts no brackets within strings", () => {
    expect(readJson(`"${"[".repeat(500)}\\"["`)).toBe(`${"[".repeat(500)}"[`);
  });
});

it("converts equal values to the same text, whatever the order of their keys", () => {
  const [one, other] = ['{"a":1,"b":{"c":[1,{"y":2,"x":1}],"d":null}}', '{"b":{"d":null,"c":[1,{"x":1,"y":2}]},"a":1}'];
  expect(canonicalJson(readJson(one) ?? null)).toBe(canonicalJson(readJson(other) ?? null));
  expect(canonicalJson({ a: 1 })).not.toBe(canonicalJson({ a: "1" }));
});
