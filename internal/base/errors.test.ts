import { expect, it } from "vitest";
import { causesOf, codeOf, DomainError, errorText } from "./errors.ts";

class DialogGoneError extends DomainError {}

it("carries its kind, its fields and its cause, and the name of its class", () => {
  const cause = new Error("below");
  const err = new DialogGoneError("precondition", "cannot answer", { fields: { id: "d1" }, cause });
  expect(err).toMatchObject({ kind: "precondition", name: "DialogGoneError", fields: { id: "d1" }, cause });
  expect(err).toBeInstanceOf(Error);
});

it("has no fields and no cause by default", () => {
  const err = new DomainError("not-found", "no such agent");
  expect(err.fields).toEqual({});
  expect("cause" in err).toBe(false);
});

it.each([
  [new Error("an error"), "an error"],
  ["a string", "a string"],
  [undefined, "undefined"],
  [{ code: 1 }, "[object Object]"],
])("returns the text of whatever was thrown", (thrown, text) => {
  expect(errorText(thrown)).toBe(text);
});

it("finds the causes of an error, including an aggregate's, and stops at a cycle", () => {
  const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
  const both = new AggregateError([refused, "no error"], "both addresses");
  const outer = new DomainError("unavailable", "cannot be reached", { cause: both });
  expect(causesOf(outer).map((err) => [err.message, codeOf(err)])).toEqual([
    ["cannot be reached", ""],
    ["both addresses", ""],
    ["refused", "ECONNREFUSED"],
  ]);
  const loop = new Error("loop");
  loop.cause = loop;
  expect(causesOf(loop)).toHaveLength(10);
  expect([causesOf("text"), codeOf(undefined), codeOf({ code: 1 })]).toEqual([[], "", ""]);
});
