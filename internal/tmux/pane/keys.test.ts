import { describe, expect, it } from "vitest";
import { checkKeys } from "./keys.ts";

describe("checkKeys", () => {
  it.each([
    "Enter",
    "Escape",
    "Up",
    "F1",
    "F12",
    "C-c",
    "^c",
    "^",
    "M-x",
    "C-M-Left",
    "S-Tab",
    "BTab",
    "PgUp",
    "a",
    "é",
    ";",
    "-",
    "C-Space",
  ])("takes %s", (key) => {
    expect(() => checkKeys([key])).not.toThrow();
  });

  it.each([
    "",
    "enter",
    "F13",
    "hello",
    "C-",
    "C-enter",
    "X-a",
    "0x41",
    "MouseDown1Pane",
    "\n",
    "\x1b",
    "C-\x01",
    " ",
    "ab",
    "\u202e",
  ])("refuses %j", (key) => {
    expect(() => checkKeys(["a", key])).toThrow(expect.objectContaining({ kind: "invalid" }));
  });

  it("refuses an empty list, and more than 256 keys", () => {
    expect(() => checkKeys([])).toThrow("no keys given");
    expect(() => checkKeys(Array<string>(257).fill("a"))).toThrow("at most 256");
  });
});
