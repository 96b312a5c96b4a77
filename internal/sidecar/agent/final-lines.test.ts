import { describe, expect, it } from "vitest";
import { fc } from "../../../test/support/property.ts";
import { Emulator } from "../../pane/screen/emulator.ts";
import type { TextRow } from "../../pane/screen/peek-text.ts";
import { FinalLines } from "./final-lines.ts";

const row = (text: string): TextRow => ({ text, wrapped: false });
const more = (text: string): TextRow => ({ text, wrapped: true });
const rows = (...texts: string[]) => texts.map(row);
/** As they are told when they scroll off; `goesOn`: the last one has its end on the screen. */
const history = (all: readonly TextRow[], goesOn = false) =>
  all.map((each, i) => ({ ...each, goesOn: all[i + 1]?.wrapped ?? (goesOn && i === all.length - 1) }));
const gone = (...texts: string[]) => history(rows(...texts));
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
  it("are told at once", () => {
    const { lines, told } = recorder();
    lines.scrolled(gone("a", "b"));
    expect(told()).toBe("a\nb\n");
    lines.stood(rows("c"), false);
    expect(told()).toBe("c\n");
  });

  it("are put together where the terminal wrapped them, also when the end still stands", () => {
    const { lines, told } = recorder();
    lines.scrolled(history([row("one "), more("two "), row("three ")], true));
    lines.stood([more("four"), row("five")], false);
    expect(told()).toBe("one two\nthree four\nfive\n");
    lines.scrolled(history([more("four"), row("five"), row("six")]));
    expect(told()).toBe("six\n");
  });

  it("are cut into pieces when they are very long, in time that does not grow with their length", () => {
    const { lines, told } = recorder();
    const wide = "x".repeat(160);
    let text = "";
    for (let i = 0; i < 60_000; i++) {
      lines.scrolled(history([i === 0 ? row(wide) : more(wide)], i < 59_999));
      text += told();
    }
    expect(text + told()).toBe(`${"x".repeat(160 * 60_000)}\n`);
  });
});

describe("lines that stood on the screen", () => {
  it("are told then, and not again when they scroll off", () => {
    const { lines, told } = recorder();
    lines.stood(rows("hello", "", "world", "", ""), false);
    expect(told()).toBe("hello\n\nworld\n");
    lines.scrolled(gone("hello", "", "world", "new"));
    expect(told()).toBe("new\n");
  });

  it("are not told again while they stay, nor when what is below them was drawn anew further down", () => {
    const { lines, told } = recorder();
    const box = ["────────", "> ", "────────", "? for shortcuts"];
    lines.stood(rows("welcome", ...box), false);
    told();
    lines.scrolled(gone("welcome"));
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
    lines.scrolled(gone("a", "c", "d"));
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
    lines.scrolled(gone(...numbered(0, 500)));
    lines.stood(rows(...numbered(500, 520)), false);
    expect(told().split("\n")).toHaveLength(521);
    lines.cleared();
    lines.scrolled(gone(...numbered(0, 400), "a new line in between", ...numbered(400, 510)));
    lines.stood(rows(...numbered(510, 520), "the newest line"), false);
    expect(told()).toBe("a new line in between\nthe newest line\n");
  });

  it("but prints something else has that told, and costs no search for long", () => {
    const { lines, told } = recorder();
    lines.scrolled(gone(...numbered(0, 2000)));
    lines.cleared();
    told();
    lines.scrolled(gone(...numbered(5000, 9000)));
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
        lines.scrolled(gone(...numbered(top, scrolled)));
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

describe("on a real terminal", () => {
  /** Prints, looks and resizes as told; returns what was told of it. */
  async function play(steps: readonly Step[]) {
    const { lines, told } = recorder();
    const emulator = new Emulator({ cols: 30, rows: 8, scrollback: 1000 });
    const cleared = () => lines.cleared();
    emulator.listen({ scrolled: (rows) => lines.scrolled(rows), overflowed: () => told(), cleared });
    const look = () => lines.stood(emulator.rowsText(emulator.rows).slice(emulator.toldRows), emulator.alternate);
    const printed: string[] = [];
    for (const step of steps) {
      if (step.do === "look") look();
      else if (step.do === "resize") emulator.resize(30, step.rows);
      else if (step.do === "redraw") await redraw(emulator, printed);
      else {
        for (let i = 0; i < step.count; i++) {
          printed.push(`${printed.length} ${"ab ".repeat(step.length)}end`);
          await emulator.write(`${printed.at(-1)}\r\n`);
        }
      }
    }
    look();
    return { told: told(), printed: printed.map((line) => `${line}\n`).join("") };
  }
  type Step =
    | { readonly do: "look" }
    | { readonly do: "redraw" }
    | { readonly do: "resize"; readonly rows: number }
    | { readonly do: "print"; readonly count: number; readonly length: number };

  /** As programs do that draw everything anew. */
  async function redraw(emulator: Emulator, printed: readonly string[]) {
    const text = printed.slice(-60).map((line) => `${line}\r\n`);
    await emulator.write(`\x1b[2J\x1b[3J\x1b[H${text.join("")}`);
  }

  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant("print" as const), count: fc.nat(30), length: fc.nat(40) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("look" as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("resize" as const), rows: fc.integer({ min: 5, max: 20 }) }) },
  );

  it("every line is told once, in order, whatever scrolls, stands and is resized", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const { told, printed } = await play(steps);
        expect(told).toBe(printed);
      }),
      { numRuns: 25 },
    );
  });

  it("every line is told once, also when all is drawn anew now and then", async () => {
    const withRedraws = fc.oneof(
      { weight: 4, arbitrary: step },
      { weight: 1, arbitrary: fc.constant({ do: "redraw" as const }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(withRedraws, { maxLength: 12 }), async (steps) => {
        // What stands on the screen and was not told when it is cleared is drawn again, and told then.
        const { told, printed } = await play(steps);
        expect(told).toBe(printed);
      }),
      { numRuns: 25 },
    );
  });
});
