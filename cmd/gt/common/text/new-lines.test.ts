import { describe, expect, it } from "vitest";
import { commonLines } from "./common-lines.ts";
import { NewLines } from "./new-lines.ts";

const BOX = ["────", "> ", "────"];

function started(picture: readonly string[], rows = 8): NewLines {
  const stream = new NewLines(500);
  stream.begin(picture, rows, picture.length, 0);
  return stream;
}

describe("the new lines of a screen", () => {
  it("are reported once they no longer change", () => {
    const stream = started(["a", ...BOX]);
    expect(stream.push(["a", "b", ...BOX], 8, 100).lines).toEqual([]);
    expect(stream.settled(599)).toEqual([]);
    expect(stream.settled(600)).toEqual(["b"]);
    expect(stream.settled(2000)).toEqual([]);
    expect(stream.pending).toBe(false);
  });

  it("are reported at once when they scroll into history", () => {
    const stream = started(["a", "b"], 2);
    expect(stream.push(["a", "b", "c", "d", "e"], 2, 10).lines).toEqual(["c"]);
    expect(stream.push(["a", "b", "c", "d", "e"], 2, 510).lines).toEqual(["d", "e"]);
  });

  it("leave out lines that never stop changing, and what is redrawn below them", () => {
    const stream = started(["a", ...BOX]);
    const given: string[] = [];
    for (let t = 1; t <= 20; t++) {
      const text = t > 5 ? ["a", "answer"] : ["a"];
      given.push(...stream.push([...text, `* working ${t}s`, ...BOX], 8, t * 100).lines);
    }
    given.push(...stream.push(["a", "answer", "done", ...BOX], 8, 2100).lines, ...stream.settled(2700));
    expect(given).toEqual(["answer", "done"]);
  });

  it("keep their order and repeat equal lines", () => {
    const stream = started([]);
    stream.push(["x", "", "x"], 8, 0);
    expect(stream.settled(500)).toEqual(["x", "", "x"]);
    stream.push(["x", "", "x", "", "x"], 8, 600);
    expect(stream.settled(1100)).toEqual(["", "x"]);
  });

  it("do not include a line of which only the styling has changed", () => {
    const stream = started(["\x1b[31ma\x1b[0m"]);
    stream.push(["\x1b[32ma\x1b[0m"], 8, 100);
    expect(stream.settled(900)).toEqual([]);
  });

  it("report lost lines", () => {
    const numbers = (from: number) => Array.from({ length: 10 }, (_, i) => `line ${from + i}`);
    const stream = started(numbers(0), 4);
    expect(stream.push(numbers(5), 4, 100).skipped).toBe(false);
    expect(stream.push(numbers(100), 4, 200).skipped).toBe(true);
  });

  it("start with the requested number of last lines", () => {
    expect(new NewLines(500).begin(["a", "b", "c"], 8, 2, 0)).toEqual(["b", "c"]);
  });
});

describe("commonLines", () => {
  it.each([
    [
      ["a", "b", "c"],
      ["b", "c", "d"],
      [
        [1, 0],
        [2, 1],
      ],
    ],
    [
      ["a", "x", "b"],
      ["a", "y", "b"],
      [
        [0, 0],
        [2, 2],
      ],
    ],
    [[], ["a"], []],
    [
      ["a", "b"],
      ["a", "b"],
      [
        [0, 0],
        [1, 1],
      ],
    ],
  ])("%j and %j: %j", (before, after, pairs) => {
    expect(commonLines(before, after)).toEqual(pairs);
  });
});
