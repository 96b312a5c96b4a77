import { expect, it } from "vitest";
import { KeyReader, type WatchKey } from "./watch-keys.ts";

const shown = (key: WatchKey) => ("text" in key ? `${key.type} ${key.text}` : key.type);
const read = (...parts: readonly string[]) => {
  const reader = new KeyReader();
  return parts.flatMap((part) => reader.read(part)).map(shown);
};

it.each([
  ["\x1b[A", ["up"]],
  ["\x1bOB", ["down"]],
  ["\x1b[B\x1b[B\x1b[B", ["down", "down", "down"]],
  ["\x1b[5~", ["pageUp"]],
  ["\x1b[F", ["end"]],
  ["\x1b", ["escape"]],
  ["\x7f\x7f", ["erase", "erase"]],
  ["\x03", ["quit"]],
  ["ü", ["text ü"]],
  ["enough\r", ["text enough", "enter"]],
  ["abc\x03", ["text abc", "quit"]],
  ["\x1b[1;5C\x1b[", []],
  ["\x00\x9b", []],
] as const)("reads %j as %j", (input, expected) => expect(read(input)).toEqual(expected));

it("reads a pasted text as one text, with its line ends and without control sequences", () => {
  expect(read("p\x1b[200~q\rp\r\nsend\x1b[31m it\x07\x1b[201~\r")).toEqual(["text p", "paste q\np\nsend it", "enter"]);
  expect(read("\x1b[200~one ", "two\r", "three\x1b[201~x")).toEqual(["paste one two\nthree", "text x"]);
  expect(read("\x1b[200~one\x1b[2", "01~q", "\x03")).toEqual(["paste one", "text q", "quit"]);
});
