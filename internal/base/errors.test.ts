import { expect, it } from "vitest";
import { DomainError, errorText } from "./errors.ts";

class DialogGoneError extends DomainError {}

it("carries its kind, its facts and its cause, and the name of its class", () => {
  const cause = new Error("below");
  const err = new DialogGoneError("precondition", "cannot answer", { fields: { id: "d1" }, cause });
  expect(err).toMatchObject({ kind: "precondition", name: "DialogGoneError", fields: { id: "d1" }, cause });
  expect(err).toBeInstanceOf(Error);
});

it("has no facts and no cause unless given", () => {
  const err = new DomainError("not-found", "no such agent");
  expect(err.fields).toEqual({});
  expect("cause" in err).toBe(false);
});

it.each([
  [new Error("an error"), "an error"],
  ["a string", "a string"],
  [undefined, "undefined"],
  [{ code: 1 }, "[object Object]"],
])("tells the text of whatever was thrown", (thrown, text) => {
  expect(errorText(thrown)).toBe(text);
});
