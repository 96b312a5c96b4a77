import { describe, expect, it } from "vitest";
import { fc } from "../../../test/support/property.ts";
import { Emulator } from "./emulator.ts";

const make = (cols = 20, rows = 5, scrollback = 100) => new Emulator({ cols, rows, scrollback });

async function drawn(text: string, cols = 20, rows = 5): Promise<Emulator> {
  const emulator = make(cols, rows);
  await emulator.write(text);
  return emulator;
}

const textsOf = (emulator: Emulator) => emulator.screen().lines.map((line) => line.text);

describe("a screen", () => {
  it("has one line for each row, without trailing blanks, and the cursor's position", async () => {
    const emulator = await drawn("one   \r\n\r\ntwo");
    expect(textsOf(emulator)).toEqual(["one", "", "two", "", ""]);
    expect(emulator.screen()).toMatchObject({ cols: 20, rows: 5, cursorX: 3, cursorY: 2, alternate: false });
  });

  it("puts the cursor back on its row after a resize during an alternate screen has rewrapped the rows", async () => {
    const emulator = await drawn(`${"a".repeat(25)}\r\ntwo\r\n\x1b[?1049hfull\r\nscreen`);
    emulator.resize(40, 5);
    await emulator.write("\x1b[?1049lx");
    expect(textsOf(emulator)).toEqual(["a".repeat(25), "two", "x", "", ""]);
  });

  it("is the same object until something is written", async () => {
    const emulator = await drawn("x");
    const before = emulator.screen();
    expect(emulator.screen()).toBe(before);
    await emulator.write("y");
    expect(emulator.screen()).not.toBe(before);
    expect(emulator.version).toBe(2);
  });

  it("splits a row where the style changes", async () => {
    const emulator = await drawn(
      "ab\x1b[1mcd\x1b[0;2mef\x1b[0;7mg\x1b[0;31mh\x1b[38;5;200mi\x1b[38;2;1;2;255mj\x1b[0m",
    );
    const plain = { bold: false, dim: false, inverse: false, fg: "default" };
    expect(emulator.screen().lines[0]?.runs).toEqual([
      { ...plain, text: "ab" },
      { ...plain, text: "cd", bold: true },
      { ...plain, text: "ef", dim: true },
      { ...plain, text: "g", inverse: true },
      { ...plain, text: "h", fg: "1" },
      { ...plain, text: "i", fg: "200" },
      { ...plain, text: "j", fg: "#0102ff" },
    ]);
  });

  it("keeps the blank under a cursor that is drawn as an inverse cell", async () => {
    const emulator = await drawn("> \x1b[7m \x1b[0m   ");
    expect(emulator.screen().lines[0]?.runs.map((run) => run.text)).toEqual(["> ", " "]);
  });

  it("reads a wide character as one character of two columns, and joins combining characters", async () => {
    const emulator = await drawn("日本e\u0301x");
    expect(emulator.screen().lines[0]?.text).toBe("日本e\u0301x");
    expect(emulator.cursor).toEqual({ x: 6, y: 0 });
  });

  it.each([
    ["accents", "a", "\u0301"],
    ["joined emoji of people", "👩", "\u200d👩"],
    ["variation selectors", "a", "\ufe0f"],
  ])("limits the combining characters of one cell, and reads the text after them: %s", async (_, first, more) => {
    const emulator = await drawn(`${first}${more.repeat(10_000)}\r\nnext`);
    const [line, next] = emulator.screen().lines;
    expect(line?.text.length).toBeLessThan(100);
    expect([line?.text.startsWith(`${first}${more.repeat(5)}`), next?.text]).toEqual([true, "next"]);
  });

  it("marks rows that continue the row above", async () => {
    const emulator = await drawn("a".repeat(25));
    expect(emulator.screen().lines.map((line) => line.wrapped)).toEqual([false, true, false, false, false]);
  });

  it("reports the alternate screen, bracketed paste and the title, and forgets them at a reset", async () => {
    const emulator = await drawn("main\x1b[?1049h\x1b[?2004h\x1b]0;a title\x07alt");
    expect(emulator.screen()).toMatchObject({ alternate: true, bracketedPaste: true, title: "a title" });
    emulator.reset();
    expect(emulator.screen()).toMatchObject({ alternate: false, bracketedPaste: false, title: "" });
    expect(textsOf(emulator).join("")).toBe("");
  });

  it("keeps the cursor within the columns after a character in the last one", async () => {
    const emulator = await drawn("a".repeat(20));
    expect(emulator.cursor).toEqual({ x: 19, y: 0 });
  });
});

describe("the rows of history and screen", () => {
  it("are read from the end, oldest first", async () => {
    const emulator = await drawn(Array.from({ length: 30 }, (_, i) => `row ${i}`).join("\r\n"));
    expect(emulator.historyLines).toBe(25);
    expect(emulator.rowsText(3).map((row) => row.text)).toEqual(["row 27", "row 28", "row 29"]);
    expect(emulator.rowsText(Number.POSITIVE_INFINITY)).toHaveLength(30);
  });

  it("keep blanks at a wrap, but not the blank left by a wide character that did not fit", async () => {
    const spaced = await drawn(`${"a".repeat(18)}  bbb`);
    expect(spaced.rowsText(5).slice(0, 2)).toEqual([
      { text: `${"a".repeat(18)}  `, wrapped: false },
      { text: "bbb", wrapped: true },
    ]);
    const wide = await drawn(`a${"日".repeat(12)}`);
    const rows = wide.rowsText(5);
    expect(rows.map((row) => row.text).join("")).toBe(`a${"日".repeat(12)}`);
    expect(rows[1]?.wrapped).toBe(true);
  });
});

it("changes its size", async () => {
  const emulator = await drawn("hello");
  emulator.resize(30, 10);
  expect([emulator.cols, emulator.rows, emulator.screen().lines.length]).toEqual([30, 10, 10]);
  const { version } = emulator;
  emulator.resize(30, 10);
  expect(emulator.version).toBe(version);
});

const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "\x1b[",
        "\x1b]",
        "\x1bP",
        "\x9b",
        "?1049h",
        "?1049l",
        "2J",
        "H",
        "5;3H",
        "m",
        "1;31m",
        "\x07",
        "\x1b\\",
      ),
      fc.constantFrom(
        "\r\n",
        "\n",
        "\t",
        "\b",
        "日本",
        "e\u0301",
        "👩‍👩‍👧",
        "abc ",
        "\x1b[999999C",
        "\x1b[3J",
        "\x1b[5;20H\x1b[1J",
        "\x1b[2147483647;2T",
        "\x1b[99Z",
        "\x1b[2;4r",
        "\x1b[?6h",
        "\x1b[?7l",
        "\x1b7",
        "\x1b8",
        "\x1bM",
        "\x1b[3S",
        "\x1b[9M",
        "\x1b[7b",
        "\x1bc",
        "\x1b(0q",
      ),
    ),
    { maxLength: 40 },
  )
  .map((parts) => parts.join(""));

it("draws the same screen whether output arrives whole or in pieces, and keeps the number of rows", async () => {
  await fc.assert(
    fc.asyncProperty(hostile, fc.integer({ min: 0, max: 60 }), async (text, cut) => {
      const bytes = Buffer.from(text);
      const whole = make();
      await whole.write(bytes);
      const pieces = make();
      await pieces.write(bytes.subarray(0, cut));
      await pieces.write(bytes.subarray(cut));
      expect(pieces.screen()).toEqual(whole.screen());
      expect(whole.screen().lines).toHaveLength(5);
    }),
    { numRuns: 60 },
  );
});

it("redraws the same screen on a fresh terminal", async () => {
  const emulator = await drawn("\x1b[31mred\x1b[0m\r\n日本\r\n\x1b[?2004h\x1b[2;3Hx");
  const other = await drawn(emulator.redraw());
  expect(other.screen()).toEqual({ ...emulator.screen(), title: "" });
});

describe("rows that scroll into the history", () => {
  async function listening(scrollback = 100) {
    const emulator = make(20, 5, scrollback);
    const reported: string[] = [];
    emulator.listen({
      scrolled: (lines) =>
        void reported.push(
          ...lines.filter(({ isReported }) => !isReported).map(({ text, isRest }) => `${isRest ? "+" : ""}${text}`),
        ),
      overflowed: () => void reported.push("overflow"),
      vanished: () => false,
      erasing: () => void reported.push("erasing"),
      cleared: () => void reported.push("cleared"),
    });
    return { emulator, reported };
  }
  const rows = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `row ${from + i}`);

  it("are reported once each, in order, even if the history is full", async () => {
    const { emulator, reported } = await listening(10);
    for (let i = 0; i < 60; i += 7)
      await emulator.write(
        rows(i, i + 7)
          .map((row) => `${row}\r\n`)
          .join(""),
      );
    expect(reported).toEqual(rows(0, 63 - 4));
  });

  it("are reported as one line if they are wrapped, after the last of them has scrolled off", async () => {
    const { emulator, reported } = await listening();
    await emulator.write(`${"a".repeat(25)}\r\n\r\n\r\n\r\n`);
    expect(reported).toEqual([]);
    await emulator.write("\r\n");
    expect(reported).toEqual(["a".repeat(25)]);
  });

  it("are still one line after changes of width, and are reported once", async () => {
    const { emulator, reported } = await listening();
    await emulator.write(`${"a".repeat(45)}\r\n${"b".repeat(30)}\r\n`);
    emulator.resize(50, 5);
    emulator.resize(10, 5);
    expect(reported).toEqual([]);
    await emulator.write("c\r\n".repeat(3));
    emulator.resize(50, 5);
    await emulator.write("d\r\n".repeat(3));
    expect(reported).toEqual(["a".repeat(45), "b".repeat(30), "c", "c"]);
  });

  it("are reported once, even across an alternate screen", async () => {
    const { emulator, reported } = await listening();
    await emulator.write(`${rows(0, 8).join("\r\n")}\x1b[?1049h`);
    await emulator.write("full\r\n\r\n\r\n\r\n\r\n\r\n\r\nscreen");
    expect(reported).toEqual(rows(0, 3));
    await emulator.write(`\x1b[?1049l\r\n${rows(8, 12).join("\r\n")}`);
    expect(reported).toEqual(rows(0, 7));
  });

  it("are reported as lost if more scroll by at once than the history holds", async () => {
    const { emulator, reported } = await listening(10);
    await emulator.write(rows(0, 40).join("\r\n"));
    expect(reported).toEqual(["overflow", ...rows(25, 35)]);
  });

  it("are not reported again after a reset", async () => {
    const { emulator, reported } = await listening();
    await emulator.write(rows(0, 8).join("\r\n"));
    emulator.reset();
    await emulator.write(rows(20, 22).join("\r\n"));
    expect(reported).toEqual(rows(0, 3));
  });

  it("are reported once, however the window's size changes", async () => {
    const { emulator, reported } = await listening();
    await emulator.write(rows(0, 8).join("\r\n"));
    emulator.resize(20, 3);
    expect(reported).toEqual(rows(0, 5));
    emulator.resize(20, 7);
    expect(emulator.standingLines().map(({ isReported }) => isReported)).toEqual([
      true,
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
    await emulator.write(`\r\n${rows(8, 20).join("\r\n")}`);
    expect(reported).toEqual(rows(0, 13));
    expect(emulator.standingLines().some(({ isReported }) => isReported)).toBe(false);
  });

  it("are reported once if the screen is erased meanwhile", async () => {
    const { emulator, reported } = await listening();
    await emulator.write(`${rows(0, 8).join("\r\n")}\x1b[2J\x1b[H`);
    await emulator.write(`${rows(8, 14).join("\r\n")}\x1b[H\x1b[J`);
    expect(reported).toEqual([...rows(0, 3), "erasing", ...rows(8, 9), "erasing"]);
  });

  it("are reported before the rows on the screen, even if those are read while a redraw is beginning", async () => {
    const emulator = make(20, 3);
    const told: string[] = [];
    const listener = { overflowed: () => {}, vanished: () => false, erasing: () => {}, cleared: () => {} };
    emulator.listen({ ...listener, scrolled: (lines) => told.push(...lines.map(({ text }) => text)) });
    emulator.holdLines(true);
    await emulator.write("1\r\n2\r\n3\r\n4\r\n5");
    const done = emulator.replace("1\r\n2\r\n3\r\n4\r\n5", 20, 4);
    const standing = emulator.standingLines();
    told.push(...standing.map(({ text }) => text));
    emulator.markReported(standing);
    await done;
    expect(told).toEqual(["1", "2", "3", "4", "5"]);
    expect(emulator.rows).toBe(4);
  });

  it("are reported before the program clears the history, and reporting continues afterwards", async () => {
    const { emulator, reported } = await listening();
    await emulator.write(`${rows(0, 8).join("\r\n")}\x1b[2J\x1b[3J\x1b[H${rows(30, 37).join("\r\n")}`);
    expect(reported).toEqual([...rows(0, 3), "erasing", "cleared", ...rows(30, 32)]);
    await emulator.write(`\x1bc${rows(50, 56).join("\r\n")}`);
    expect(reported.slice(7)).toEqual(["erasing", "cleared", "erasing", ...rows(50, 51)]);
    await emulator.write("\x1b[?1049h\x1b[3J\x1b[?1049l\r\nlast");
    expect(reported.slice(11)).toEqual(rows(51, 52));
  });
});
