import { expect, it } from "vitest";
import type { Terminal } from "./terminal.ts";
import { TornTerminal } from "./torn-terminal.ts";

const DRAWING = "\x1b[2K> some text\r\n────";

/** The text that arrives of some drawings, with `|` for each pause. */
function drawn(seed: number, times: number): string {
  let out = "";
  const whole: Terminal = {
    cols: 80,
    rows: 24,
    write: (text) => {
      out += text;
    },
    open: () => {},
    freeze: () => {},
    close: () => {},
  };
  const torn = new TornTerminal(whole, seed, () => {
    out += "|";
  });
  for (let n = 0; n < times; n++) torn.write(DRAWING);
  return out;
}

it("draws everything in two parts each time, split at places that the seed decides", () => {
  const out = drawn(7, 50);
  expect(out.replaceAll("|", "")).toBe(DRAWING.repeat(50));
  expect(out.split("|")).toHaveLength(51);
  expect(out).toBe(drawn(7, 50));
  expect(new Set(out.split("|").map(({ length }) => length)).size).toBeGreaterThan(5);
});

it("draws a single character at once", () => {
  const parts: string[] = [];
  const whole = { write: (text: string) => void parts.push(text) } as Terminal;
  const torn = new TornTerminal(whole, 1, () => parts.push("|"));
  torn.write("x");
  expect(parts).toEqual(["x"]);
});
