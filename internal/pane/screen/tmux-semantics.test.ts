import { expect, it } from "vitest";
import { Emulator } from "./emulator.ts";

const COLS = 10;
const FULL = "0123456789";

async function drawn(bytes: string): Promise<Emulator> {
  const emulator = new Emulator({ cols: COLS, rows: 4, scrollback: 50 });
  await emulator.write(bytes);
  return emulator;
}

async function shows(bytes: string): Promise<readonly string[]> {
  return (await drawn(bytes)).screen().lines.map((line) => line.text);
}

/** A cursor behind the last column shows only by the place of the next character. */
it.each<[what: string, bytes: string, rows: readonly string[]]>([
  ["a line feed after the last column keeps the column", `${FULL}\nx`, [FULL, "", "x", ""]],
  ["moving left from after the last column counts from there", `${FULL}\x1b[Dx`, ["012345678x", "", "", ""]],
  ["a backspace from after the last column does, too", `${FULL}\bx`, ["012345678x", "", "", ""]],
  ["a backspace at the beginning of a row that continues another", `${FULL}a\r\bx`, ["012345678x", "a", "", ""]],
  ["nothing after the last column is erased", `${FULL}\x1b[Xx`, [FULL, "x", "", ""]],
  ["without wrapping the cursor does not pass the last column", `\x1b[?7l${FULL}\x1b[?7hx`, ["012345678x", "", "", ""]],
  ["a repetition ends with the row", "1234567x\x1b[9by", ["1234567xxx", "y", "", ""]],
  ["only a single byte is repeated", "é\x1b[3bx", ["éx", "", "", ""]],
  ["the movements a and e are unknown", "a\x1b[3ab\x1b[2ec", ["abc", "", "", ""]],
  ["columns do not count from the region's first row", "\x1b[2;4r\x1b[?6h\x1b[2;1H\x1b[5Gx", ["", "", "    x", ""]],
  ["nor does a movement to the side", "\x1b[2;4r\x1b[?6h\x1b[3Cx", ["", "   x", "", ""]],
  ["a region sets the cursor to the screen's first row", "\x1b[?6h\x1b[2;4r\x1b[Ax", ["x", "", "", ""]],
  ["lines inserted above a region move the whole screen", "a\r\nb\x1b[3;4r\x1b[L", ["", "a", "b", ""]],
  ["and inserted lines keep the cursor's column", "abc\x1b[Lx", ["   x", "abc", "", ""]],
  ["one saved cursor for both screens", "a\x1b[2;3H\x1b7\x1b[?1049h\x1b[H\x1b8x", ["", "  x", "", ""]],
  ["the saved cursor keeps origin mode", "\x1b[2;4r\x1b[?6h\x1b7\x1b[?6l\x1b8\x1b[Hx", ["", "x", "", ""]],
  ["leaving an alternate screen that is not on", "ab\x1b[?1049h\x1b[?1049l\x1b[3;1H\x1b[?1049lx", ["abx", "", "", ""]],
  ["one region for both screens", "\x1b[2;3r\x1b[?1049h\x1b[3;1Ha\n\nb", ["", "", " b", ""]],
])("as tmux does: %s", async (_, bytes, rows) => {
  expect(await shows(bytes)).toEqual(rows);
});

const history = async (bytes: string) => {
  const emulator = await drawn(bytes);
  return emulator
    .rowsText(100)
    .slice(0, emulator.historyLines)
    .map((row) => row.text);
};

it.each<[what: string, bytes: string, rows: readonly string[]]>([
  ["all of it is erased", "a\r\nb\x1b[2J", ["a", "b"]],
  ["all of it is erased from its first cell on", "a\r\nb\x1b[H\x1b[J", ["a", "b"]],
  ["it is reset", "a\r\n\r\nb\x1bc", ["a", "", "b"]],
  ["a region below its first row scrolls", "a\r\nb\r\nc\x1b[2;3r\x1b[3;1H\n", ["b"]],
  ["it is scrolled by a number of rows", "a\r\nb\x1b[2S", ["a", "b"]],
  ["a region is scrolled by more rows than it has", "a\r\nb\r\nc\x1b[2;3r\x1b[9S", ["b", "c"]],
])("the content of the main screen goes into the history when %s", async (_, bytes, rows) => {
  expect(await history(bytes)).toEqual(rows);
});

it.each([
  ["a part is erased", "a\r\nb\x1b[J"],
  ["it is blank", "\x1b[2J"],
  ["the alternate screen is erased", "\x1b[?1049ha\x1b[2J\x1b[?1049l"],
])("nothing goes into the history when %s", async (_, bytes) => {
  expect(await history(bytes)).toEqual([]);
});

it("a full history drops its oldest row for each new one, whatever adds it", async () => {
  const emulator = new Emulator({ cols: COLS, rows: 4, scrollback: 3 });
  await emulator.write("a\r\nb\r\nc\r\nd\x1b[2J\x1b[2;3r\x1b[2;1He\r\n\r\n\r\n");
  expect(emulator.historyLines).toBe(3);
  expect(emulator.rowsText(100).map((row) => row.text)).toEqual(["d", "e", "", "", "", "", ""]);
});

it("a reset blanks the alternate screen and stays on it", async () => {
  const { alternate, lines } = (await drawn("a\x1b[?1049hb\x1b[31m\x1bcx")).screen();
  expect([alternate, lines[0]?.text, lines[0]?.runs[0]?.fg]).toEqual([true, "x", "default"]);
});

it("a row that starts by wrapping, and a new alternate screen, have no colour", async () => {
  const wrapped = await drawn(`\x1b[4;1H\x1b[41m${FULL}x`);
  const alternate = await drawn("\x1b[41m\x1b[?1049h");
  const shown = new Emulator({ cols: COLS, rows: 4, scrollback: 0 });
  for (const [emulator, printed] of [
    [wrapped, 1],
    [alternate, 0],
  ] as const) {
    const redraw = emulator.redraw();
    await shown.write(redraw);
    expect(redraw.split("\x1b[0;41m").length - 1).toBe(printed + 1); // the cells that were printed, and the next one
  }
});

it("erases up to the screen's last cell, and no mark of a row in the history", async () => {
  const emulator = await drawn(`\x1b[4;${COLS}Hx\x1b[1J`);
  expect(emulator.screen().lines.map((line) => line.text)).toEqual(["", "", "", ""]);
  const scrolled = await drawn(`${FULL}abc\r\n\n\n\n\n\x1b[1;${COLS}H\x1b[1J`);
  expect([scrolled.historyLines, scrolled.rowsText(100)[1]]).toEqual([3, { text: "abc", wrapped: true }]);
});

it("an erased row is not continued by the next one", async () => {
  const { lines } = (await drawn(`${FULL}a\x1b[H\x1b[2K`)).screen();
  expect(lines.map((line) => line.wrapped)).toEqual([false, false, false, false]);
});

it("a redraw of a wrapped row that starts with unwritten cells keeps the position of its text", async () => {
  const before = await drawn(`${FULL}abc\x1b[1Kd`);
  const after = await drawn(before.redraw());
  expect(after.screen().lines).toEqual(before.screen().lines);
  expect(before.screen().lines[1]?.text).toBe("   d");
});

it("is not delayed by a number, however large, in any sequence", async () => {
  const finals = Array.from({ length: 0x7f - 0x40 }, (_, i) => String.fromCharCode(0x40 + i));
  const sequences = ["", " ", "'", "$", "!"].flatMap((between) =>
    ["2147483647", "?2147483647", "2147483647;2147483647"].flatMap((numbers) =>
      finals.map((final) => `\x1b[${numbers}${between}${final}`),
    ),
  );
  const started = performance.now();
  const emulator = await drawn(sequences.map((sequence) => `abc\x1b[2;3H${sequence}`).join(""));
  expect(performance.now() - started).toBeLessThan(2000);
  await emulator.write("\x1bcstill here");
  expect(emulator.rowsText(4).map((row) => row.text)).toEqual(["still here", "", "", ""]);
});
