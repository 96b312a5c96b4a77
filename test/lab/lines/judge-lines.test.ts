import { describe, expect, it } from "vitest";
import { GAP, judgeLines } from "./judge-lines.ts";
import { lineAt } from "./numbered-line.ts";

const told = (...numbers: readonly number[]) => numbers.map((number) => `${lineAt(number)}\n`).join("");

describe("the reported lines of a program's output", () => {
  it("are right when each arrives once, whole and in order, with anything between them", () => {
    expect(judgeLines(`${told(0, 1)}\nan editor\n~\n${told(2)}`, 3)).toEqual([]);
  });

  it.each([
    ["one is missing", told(0, 2), ["missing: 1 to 1"]],
    ["the last one is missing", told(0, 1), ["missing at the end: 2 to 2"]],
    ["one comes again", told(0, 1, 1, 2), ["again or out of order: 1, due 2"]],
    ["two are swapped", told(0, 2, 1), ["missing: 1 to 1", "again or out of order: 1, due 3"]],
    [
      "one is cut",
      `${told(0)}${lineAt(1).slice(0, -1)}\n${told(2)}`,
      [expect.stringContaining("not whole: <00000001")],
    ],
    ["one has another line's end", `${told(0, 1)}${lineAt(2)} 7>\n`, [expect.stringContaining("not whole: <00000002")]],
  ])("are wrong when %s", (_, text, faults) => {
    expect(judgeLines(text, 3)).toEqual(faults);
  });

  it("may be missing only where the events report a gap", () => {
    expect(judgeLines(`${told(0)}${GAP}${told(2)}`, 3)).toEqual([]);
    expect(judgeLines(`${told(0)}${GAP}${told(1, 3)}`, 4)).toEqual(["missing: 2 to 2"]);
    expect(judgeLines(`${told(0)}${GAP}`, 3)).toEqual([]);
    expect(judgeLines(`${told(0)}${GAP}alpha 1>\n${told(2)}`, 3)).toEqual([]);
    const [first, second] = [lineAt(1).slice(0, 12), lineAt(1).slice(12)];
    expect(judgeLines(`${told(0)}${GAP}${first}\n${second}\n${told(2)}`, 3)).toEqual([]);
    expect(judgeLines(`${told(0)}${first}\n${second}\n${told(2)}`, 3)).toHaveLength(2);
    expect(judgeLines(`${told(0)}${GAP}${told(1)}alpha 2>\n`, 3)).toEqual([
      "not whole: alpha 2>",
      "missing at the end: 2 to 2",
    ]);
  });
});
