import { describe, expect, it } from "vitest";
import { fc } from "../../test/support/property.ts";
import type { TextRow } from "../pane/peek-text.ts";
import { FinalLines } from "./event-lines.ts";

const row = (text: string): TextRow => ({ text, wrapped: false });
const more = (text: string): TextRow => ({ text, wrapped: true });
const rows = (...texts: string[]) => texts.map(row);
const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `line number ${from + i}`);

function recorder(standing: readonly number[] = []) {
  let text = "";
  const lines = new FinalLines((more) => {
    text += more;
  }, standing);
  const told = () => {
    const all = text;
    text = "";
    return all;
  };
  return { lines, told };
}

describe("lines that scroll off", () => {
  it("are told once it is clear that they are whole", () => {
    const { lines, told } = recorder();
    lines.scrolled(rows("a", "b"));
    expect(told()).toBe("a\n");
    lines.scrolled(rows("c"));
    expect(told()).toBe("b\n");
    lines.stood(rows("d"), false);
    expect(told()).toBe("c\nd\n");
  });

  it("are put together where the terminal wrapped them, also when the end still stands", () => {
    const { lines, told } = recorder();
    lines.scrolled([row("one "), more("two "), row("three ")]);
    lines.stood([more("four"), row("five")], false);
    expect(told()).toBe("one two\nthree four\nfive\n");
    lines.scrolled([more("four"), row("five"), row("six"), row("")]);
    expect(told()).toBe("six\n");
  });

  it("are cut into pieces when they are very long, in time that does not grow with their length", () => {
    const { lines, told } = recorder();
    const wide = "x".repeat(160);
    let text = "";
    for (let i = 0; i < 60_000; i++) {
      lines.scrolled([i === 0 ? row(wide) : more(wide)]);
      text += told();
    }
    lines.scrolled(rows("next"));
    expect(text + told()).toBe(`${"x".repeat(160 * 60_000)}\n`);
  });
});

describe("lines that stood on the screen", () => {
  it("are told then, and not again when they scroll off", () => {
    const { lines, told } = recorder();
    lines.stood(rows("hello", "", "world", "", ""), false);
    expect(told()).toBe("hello\n\nworld\n");
    lines.scrolled(rows("hello", "", "world", "new", "newer"));
    expect(told()).toBe("new\n");
  });

  it("are not told again while they stay, nor when what is below them was drawn anew further down", () => {
    const { lines, told } = recorder();
    const box = ["────────", "> ", "────────", "? for shortcuts"];
    lines.stood(rows("welcome", ...box), false);
    told();
    lines.scrolled(rows("welcome"));
    lines.stood(rows("question", "answer 1", ...box), false);
    expect(told()).toBe("question\nanswer 1\n");
    lines.stood(rows("question", "answer 1", ...box), false);
    expect(told()).toBe("");
  });

  it("are told again when they changed", () => {
    const { lines, told } = recorder();
    lines.stood(rows("a", "$"), false);
    told();
    lines.stood(rows("a", "$ ls", "file", "$"), false);
    expect(told()).toBe("$ ls\nfile\n");
  });

  it("and were erased are not missed", () => {
    const { lines, told } = recorder();
    lines.stood(rows("a", "working on it", "c"), false);
    told();
    lines.scrolled(rows("a", "c", "d", "e"));
    expect(told()).toBe("d\n");
  });

  it("come a second time when the agent printed them a second time", () => {
    const { lines, told } = recorder();
    lines.stood(rows("npm test", "passed"), false);
    lines.stood(rows("npm test", "passed", "npm test", "passed"), false);
    expect(told()).toBe("npm test\npassed\nnpm test\npassed\n");
  });

  it("are known by another process that was told of them", () => {
    const first = recorder();
    first.lines.stood(rows("a line", "another line"), false);
    const second = recorder(first.lines.standing);
    second.lines.stood(rows("another line", "a third line"), false);
    expect(second.told()).toBe("a third line\n");
  });
});

it("tells of an alternate screen what changed since the last moment", () => {
  const { lines, told } = recorder();
  lines.stood(rows("file.txt", "", "one", "two", "~"), true);
  expect(told()).toBe("file.txt\none\ntwo\n~\n");
  lines.stood(rows("file.txt", "", "one", "2", "~"), true);
  expect(told()).toBe("2\n");
  lines.stood(rows("main"), false);
  expect(told()).toBe("main\n");
});

describe("an agent that clears its history and draws everything anew", () => {
  it("has only what is new told", () => {
    const { lines, told } = recorder();
    lines.scrolled(rows(...numbered(0, 500)));
    lines.stood(rows(...numbered(500, 520)), false);
    expect(told().split("\n")).toHaveLength(521);
    lines.cleared();
    lines.scrolled(rows(...numbered(0, 400), "a new line in between", ...numbered(400, 510)));
    lines.stood(rows(...numbered(510, 520), "the newest line"), false);
    expect(told()).toBe("a new line in between\nthe newest line\n");
  });

  it("but prints something else has that told, and costs no search for long", () => {
    const { lines, told } = recorder();
    lines.scrolled(rows(...numbered(0, 2000)));
    lines.cleared();
    told();
    lines.scrolled(rows(...numbered(5000, 9000), "end"));
    expect(told()).toBe(`${numbered(5000, 9000).join("\n")}\n`);
  });
});

it("tells each line of a plain output once, however it is cut into scrolling and moments", () => {
  const step = fc.record({ print: fc.nat(30), stands: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { lines, told } = recorder();
      const height = 10;
      let printed = 0;
      let top = 0;
      for (const { print, stands } of steps) {
        printed += print;
        const scrolled = Math.max(top, printed - height);
        lines.scrolled(rows(...numbered(top, scrolled)));
        top = scrolled;
        if (stands) lines.stood(rows(...numbered(top, printed), "", ""), false);
      }
      lines.stood(rows(...numbered(top, printed)), false);
      expect(told()).toBe(
        numbered(0, printed)
          .map((line) => `${line}\n`)
          .join(""),
      );
    }),
  );
});
