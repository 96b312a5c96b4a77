import { describe, expect, it } from "vitest";
import { fc } from "../../../test/support/property.ts";
import { Emulator } from "../../pane/screen/emulator.ts";
import { type FinalLine, FinalLines } from "./final-lines.ts";

const lineOf = (text: string): FinalLine => ({ text, isReported: false, isRest: false, hasMore: false });
const gone = (...texts: string[]) => texts.map(lineOf);
const rows = gone;
const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `line number ${from + i}`);

function recorder(standing: readonly number[] = []) {
  let text = "";
  const lines = new FinalLines(
    (more) => {
      text += more;
    },
    { standing },
  );
  const reported = () => {
    const all = text;
    text = "";
    return all;
  };
  return { lines, reported };
}

describe("lines that scroll off", () => {
  it("are reported at once", () => {
    const { lines, reported } = recorder();
    lines.scrolled(gone("a", "b"));
    expect(reported()).toBe("a\nb\n");
    lines.stood(rows("c"));
    expect(reported()).toBe("c\n");
  });

  it("are reported in parts that form one line if they are longer than the history", () => {
    const { lines, reported } = recorder();
    lines.scrolled([...gone("before"), { ...lineOf("one "), hasMore: true }]);
    lines.scrolled([{ ...lineOf("two "), isRest: true, hasMore: true }]);
    lines.scrolled([{ ...lineOf("three"), isRest: true }, lineOf("after")]);
    expect(reported()).toBe("before\none two three\nafter\n");
  });

  it("are ended if the rest never arrives", () => {
    const { lines, reported } = recorder();
    lines.scrolled([{ ...lineOf("one "), hasMore: true }]);
    lines.stood(gone("another"));
    expect(reported()).toBe("one \nanother\n");
  });

  it("are skipped if the terminal says that they were reported", () => {
    const { lines, reported } = recorder();
    lines.scrolled([{ ...lineOf("a"), isReported: true }, lineOf("b")]);
    expect(reported()).toBe("b\n");
  });
});

describe("lines that stood on the screen", () => {
  it("are reported once, and not again when they scroll off", () => {
    const { lines, reported } = recorder();
    lines.stood(rows("hello", "", "world", "", ""));
    expect(reported()).toBe("hello\n\nworld\n");
    lines.scrolled(gone("hello", "", "world", "new"));
    expect(reported()).toBe("new\n");
  });

  it("are not reported again while they stay, nor when the rows below them move down", () => {
    const { lines, reported } = recorder();
    const box = ["────────", "> ", "────────", "? for shortcuts"];
    lines.stood(rows("welcome", ...box));
    reported();
    lines.scrolled(gone("welcome"));
    lines.stood(rows("question", "answer 1", ...box));
    expect(reported()).toBe("question\nanswer 1\n");
    lines.stood(rows("question", "answer 1", ...box));
    expect(reported()).toBe("");
  });

  it("are reported again after they changed", () => {
    const { lines, reported } = recorder();
    lines.stood(rows("a", "$"));
    reported();
    lines.stood(rows("a", "$ ls", "file", "$"));
    expect(reported()).toBe("$ ls\nfile\n");
  });

  it("and were erased cause no gap", () => {
    const { lines, reported } = recorder();
    lines.stood(rows("a", "working on it", "c"));
    reported();
    lines.scrolled(gone("a", "c", "d"));
    expect(reported()).toBe("d\n");
  });

  it("are reported a second time if the agent printed them a second time", () => {
    const { lines, reported } = recorder();
    lines.stood(rows("npm test", "passed"));
    lines.stood(rows("npm test", "passed", "npm test", "passed"));
    expect(reported()).toBe("npm test\npassed\nnpm test\npassed\n");
  });

  it("are recognised by another process that has their hashes", () => {
    const first = recorder();
    first.lines.stood(rows("a line", "another line"));
    const second = recorder(first.lines.standing);
    second.lines.stood(rows("another line", "a third line"));
    expect(second.reported()).toBe("a third line\n");
  });
});

it("reports the changes of an alternate screen since the last look", () => {
  const { lines, reported } = recorder();
  lines.stoodAlternate(["file.txt", "", "one", "two", "~"]);
  expect(reported()).toBe("file.txt\none\ntwo\n~\n");
  lines.stoodAlternate(["file.txt", "", "one", "2", "~"]);
  expect(reported()).toBe("2\n");
  lines.stood(rows("main"));
  expect(reported()).toBe("main\n");
});

describe("an agent that clears its history and draws everything again", () => {
  it("has only its new lines reported", () => {
    const { lines, reported } = recorder();
    lines.scrolled(gone(...numbered(0, 500)));
    lines.stood(rows(...numbered(500, 520)));
    expect(reported().split("\n")).toHaveLength(521);
    lines.cleared();
    lines.scrolled(gone(...numbered(0, 400), "a new line in between", ...numbered(400, 510)));
    lines.stood(rows(...numbered(510, 520), "the newest line"));
    expect(reported()).toBe("a new line in between\nthe newest line\n");
  });

  it("but prints something else has that reported, and the search ends soon", () => {
    const { lines, reported } = recorder();
    lines.scrolled(gone(...numbered(0, 2000)));
    lines.cleared();
    reported();
    lines.scrolled(gone(...numbered(5000, 9000)));
    expect(reported()).toBe(`${numbered(5000, 9000).join("\n")}\n`);
  });
});

it("reports each line of a plain output once, however it is divided into scrolling and looks", () => {
  const step = fc.record({ print: fc.nat(30), stands: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { lines, reported } = recorder();
      const height = 10;
      let printed = 0;
      let top = 0;
      for (const { print, stands } of steps) {
        printed += print;
        const scrolled = Math.max(top, printed - height);
        lines.scrolled(gone(...numbered(top, scrolled)));
        top = scrolled;
        if (stands) lines.stood(rows(...numbered(top, printed), "", ""));
      }
      lines.stood(rows(...numbered(top, printed)));
      expect(reported()).toBe(
        numbered(0, printed)
          .map((line) => `${line}\n`)
          .join(""),
      );
    }),
  );
});

describe("on a real terminal", () => {
  /** Performs the steps; returns the printed and the reported text. */
  async function play(steps: readonly Step[]) {
    const { lines, reported } = recorder();
    const emulator = new Emulator({ cols: 30, rows: 8, scrollback: 1000 });
    const cleared = () => lines.cleared();
    const look = () => {
      const standing = emulator.standingLines();
      lines.stood(standing);
      const used = standing.findLastIndex(({ text }) => text !== "") + 1;
      emulator.markReported(standing.slice(0, used));
    };
    const scrolled = (more: readonly FinalLine[]) => lines.scrolled(more);
    emulator.listen({ scrolled, overflowed: () => reported(), vanished: () => false, erasing: () => {}, cleared });
    const printed: string[] = [];
    for (const step of steps) {
      if (step.do === "look") look();
      else if (step.do === "resize") emulator.resize(step.cols, step.rows);
      else if (step.do === "redraw") await redraw(emulator, printed);
      else {
        for (let i = 0; i < step.count; i++) {
          printed.push(`${printed.length} ${"ab ".repeat(step.length)}end`);
          await emulator.write(`${printed.at(-1)}\r\n`);
        }
      }
    }
    look();
    return { reported: reported(), printed: printed.map((line) => `${line}\n`).join("") };
  }
  type Step =
    | { readonly do: "look" }
    | { readonly do: "redraw" }
    | { readonly do: "resize"; readonly cols: number; readonly rows: number }
    | { readonly do: "print"; readonly count: number; readonly length: number };

  /** As programs do that draw everything again. */
  async function redraw(emulator: Emulator, printed: readonly string[]) {
    const text = printed.slice(-60).map((line) => `${line}\r\n`);
    await emulator.write(`\x1b[2J\x1b[3J\x1b[H${text.join("")}`);
  }

  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant("print" as const), count: fc.nat(30), length: fc.nat(40) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("look" as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant("resize" as const),
        cols: fc.integer({ min: 8, max: 90 }),
        rows: fc.integer({ min: 5, max: 20 }),
      }),
    },
  );

  it("every line is reported once, in order, whatever scrolls, stays and is resized", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const { reported, printed } = await play(steps);
        expect(reported).toBe(printed);
      }),
      { numRuns: 25 },
    );
  });

  it("every line is reported once, even if everything is drawn again now and then", async () => {
    const withRedraws = fc.oneof(
      { weight: 4, arbitrary: step },
      { weight: 1, arbitrary: fc.constant({ do: "redraw" as const }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(withRedraws, { maxLength: 12 }), async (steps) => {
        // Unreported lines on the screen at the moment of a clear are drawn again, and reported then.
        const { reported, printed } = await play(steps);
        expect(reported).toBe(printed);
      }),
      { numRuns: 25 },
    );
  });
});
