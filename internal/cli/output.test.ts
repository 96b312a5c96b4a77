import { expect, it } from "vitest";
import { Output, usesColour } from "./output.ts";
import { terminalSize } from "./terminal-size.ts";

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

it.each([
  [true, {}, true],
  [true, { TERM: "dumb" }, false],
  [false, {}, false],
])("tty %s with %j: redraws %s", (isTTY, env, redraws) => {
  expect(new Output(sink(isTTY), env).redraws).toBe(redraws);
});

it("takes a terminal that says no size, or 0 by 0, for one of 80 by 24", () => {
  expect(new Output({ ...sink(true), columns: 0 }, {}).columns).toBe(80);
  expect(terminalSize({})).toEqual({ columns: 80, rows: 24 });
  expect(terminalSize({ columns: 0, rows: 0 })).toEqual({ columns: 80, rows: 24 });
  expect(terminalSize({ columns: 1, rows: 2 })).toEqual({ columns: 1, rows: 2 });
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
