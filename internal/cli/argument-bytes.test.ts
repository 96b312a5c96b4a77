import { expect, it } from "vitest";
import { checkArgumentBytes } from "./argument-bytes.ts";

const latin1 = Buffer.from("gt\0nudge\0caf\xe9\0", "latin1");

it("refuses an argument with bytes that Node has replaced", () => {
  expect(() => checkArgumentBytes(["nudge", "caf\ufffd"], () => latin1)).toThrow("an argument is not UTF-8");
});

it.each([
  ["valid UTF-8", ["caf\u00e9"], latin1],
  ["the replacement character itself", ["a \ufffd b"], Buffer.from("gt\0a \ufffd b\0")],
])("accepts %s", (_, argv, bytes) => {
  expect(() => checkArgumentBytes(argv, () => bytes)).not.toThrow();
});

it("accepts every argument if the system does not report the bytes", () => {
  const unknown = () => {
    throw new Error("ENOENT");
  };
  expect(() => checkArgumentBytes(["caf\ufffd"], unknown)).not.toThrow();
});
