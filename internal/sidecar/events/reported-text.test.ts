import { beforeEach, describe, expect, it } from "vitest";
import { ReportedText } from "./reported-text.ts";

const LINES = Array.from({ length: 40 }, (_, i) => `- item ${i}: ${"alpha beta gamma ".repeat(i % 5)}end ${i}`);
/** Those of them that are not known. */
const freshOf = (lines: readonly string[]) => lines.filter((line, i) => !text.isKnown(line, lines[i + 1]));
let text: ReportedText;
beforeEach(() => {
  text = new ReportedText();
  for (const line of LINES) text.add(line);
});

const wrapped = (line: string, cols: number) => line.match(new RegExp(`.{1,${cols}}`, "g")) ?? [];

describe("lines that a program draws again", () => {
  it.each([10, 23, 60, 200])("are recognised if it wraps them at %i columns and frames them", (cols) => {
    text.redrawn();
    const rows = LINES.flatMap((line) => wrapped(line, cols).map((row) => `│ ${row} │`));
    expect(freshOf(rows)).toEqual([]);
  });

  it("are recognised if it draws only the last of them, and draws those twice", () => {
    text.redrawn();
    const last = LINES.slice(21).flatMap((line) => wrapped(line, 30));
    expect(freshOf([...last, "╰────╯", ...last])).toEqual([]);
  });

  it("are distinguished from new ones between and after them", () => {
    text.redrawn();
    const drawn = [...LINES.slice(0, 5), "a heading that nobody has seen", ...LINES.slice(5), "what is new"];
    const fresh = drawn.filter((line, i) => {
      const isKnown = text.isKnown(line, drawn[i + 1]);
      if (!isKnown) text.add(line);
      return !isKnown;
    });
    expect(fresh).toEqual(["a heading that nobody has seen", "what is new"]);
  });
});

describe("lines that a program prints a second time", () => {
  it("are new if nothing was drawn again", () => {
    expect(text.isKnown(LINES[3] ?? "")).toBe(false);
  });

  it("are new once it has drawn everything", () => {
    text.redrawn();
    for (const line of LINES) text.isKnown(line);
    text.settled();
    expect(text.isKnown(LINES[3] ?? "")).toBe(false);
  });

  it("are new after all the others if the next line is new", () => {
    text.redrawn();
    expect(freshOf([...LINES, LINES[3] ?? "", "nobody has seen this"])).toEqual([LINES[3], "nobody has seen this"]);
  });

  it("are new if they equal several others", () => {
    for (let i = 0; i < 3; i++) text.add("return undefined here;");
    text.redrawn();
    for (const line of LINES) text.isKnown(line);
    expect(text.isKnown("return undefined here;")).toBe(true);
    text.settled();
    text.redrawn();
    expect(text.isKnown("return undefined here;")).toBe(false);
  });

  it("are new if they are short and come after all the others", () => {
    text.redrawn();
    for (const line of LINES) text.isKnown(line);
    expect([text.isKnown("OK"), text.isKnown("end 3")]).toEqual([false, false]);
  });

  it("are new after a hundred others", () => {
    text.redrawn();
    for (let i = 0; i < 100; i++) text.isKnown(`nobody has seen this ${i}`);
    expect(text.isKnown(LINES[0] ?? "")).toBe(false);
  });
});

it("treats a line without letters like the previous line", () => {
  text.redrawn();
  expect([text.isKnown(""), text.isKnown(LINES[0] ?? ""), text.isKnown("────")]).toEqual([true, true, true]);
  expect([text.isKnown("never seen before"), text.isKnown("")]).toEqual([false, false]);
});

it("remembers the newest half a million letters", () => {
  for (let i = 0; i < 60_000; i++) text.add(`a line with number ${i}`);
  text.redrawn();
  expect(text.isKnown(LINES[1] ?? "")).toBe(false);
  expect(text.isKnown("a line with number 59999")).toBe(true);
});
