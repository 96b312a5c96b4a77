import { expect, it } from "vitest";
import { Output, usesColour } from "./output.ts";

function sink(isTTY: boolean) {
  const written: string[] = [];
  return { isTTY, columns: 100, written, write: (text: string) => written.push(text) };
}

it.each([
  [true, {}, true],
  [false, {}, false],
  [true, { NO_COLOR: "1" }, false],
  [true, { NO_COLOR: "" }, true],
  [true, { TERM: "dumb" }, false],
])("tty %s with %j: colours %s", (isTTY, env, colour) => {
  expect(usesColour(sink(isTTY), env)).toBe(colour);
});

it("paints only if colours are on", () => {
  expect(String(new Output(sink(true), {}).paint("red", "x"))).toBe("\x1b[31mx\x1b[0m");
  expect(String(new Output(sink(false), {}).paint("red", "x"))).toBe("x");
});

it("removes escape sequences from untrusted text", () => {
  const out = sink(true);
  new Output(out, {}).plain("a\x1b]0;owned\x07b\x1b[31mc\n");
  new Output(out, {}).styled("\x1b[31mc\x1b[2Jd");
  expect(out.written).toEqual(["abc\n", "\x1b[31mcd\x1b[0m"]);
});
