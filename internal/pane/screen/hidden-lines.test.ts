import { describe, expect, it } from "vitest";
import { Emulator } from "./emulator.ts";

/** An emulator of 40 columns and 5 rows, and its reports of lines. */
async function printed(text: string, drawsItself = false) {
  const emulator = new Emulator({ cols: 40, rows: 5, scrollback: 1000 });
  const reported: string[] = [];
  emulator.listen({
    scrolled: (lines) =>
      void reported.push(...lines.filter(({ isReported }) => !isReported).map(({ text: line }) => line.trimEnd())),
    overflowed: () => void reported.push("overflow"),
    vanished: (lines) => {
      if (!drawsItself)
        reported.push(...lines.map(({ text: line, hasMore }) => `${line.trimEnd()}${hasMore ? "…" : ""}`));
      return !drawsItself;
    },
    erasing: () => {
      const standing = emulator.standingLines().filter(({ isReported, text: line }) => !isReported && line !== "");
      reported.push(...standing.map(({ text: line }) => line));
      emulator.markReported(standing);
    },
    cleared: () => {},
  });
  await emulator.write(text);
  return { emulator, reported };
}

const LONG = "one two three four five six seven";
const ON = "\x1b[?1049h\x1b[Han editor";
const OFF = "\x1b[?1049l";
/** As tmux gives a hidden main screen in a window of 20 columns: cut. */
const CUT = `${LONG.slice(0, 20)}\r\nlast${ON}`;

describe("the lines of a main screen that was hidden while its window became narrower", () => {
  it("are reported unchanged if the program erases them before the screen is known exactly", async () => {
    const { emulator, reported } = await printed(`${LONG}\r\nlast\r\n${ON}`);
    await emulator.replace(CUT, 20, 5);
    await emulator.write(`${OFF}\x1b[2J\x1b[H`);
    expect(reported).toEqual([LONG, "last"]);
    await emulator.replace("next", 20, 5);
    await emulator.write("\r\n".repeat(6));
    expect(reported).toEqual([LONG, "last", "next", ""]);
  });

  it("precede what the program printed since, and are reported once when the screen is known exactly", async () => {
    const { emulator, reported } = await printed(`${LONG}\r\nlast\r\n${ON}`);
    await emulator.replace(CUT, 20, 5);
    await emulator.write(`${OFF}\r\nfresh ${LONG}\r\n`);
    // tmux has forgotten that the first row of a line continues in the next one.
    await emulator.replace(`${LONG}\r\nlast\r\n${`fresh ${LONG}`.slice(0, 20)}\r\n${LONG.slice(14)}${ON}`, 20, 5);
    expect(reported).toEqual([]);
    await emulator.replace(
      `${LONG}\r\nlast\r\n${`fresh ${LONG}`.slice(0, 20)}\r\n${LONG.slice(14)}${"\r\n".repeat(6)}`,
      20,
      5,
    );
    expect(reported.filter((line) => line !== "")).toEqual([LONG, "last", `fresh ${LONG}`]);
  });

  it("are reported if more lines pass than can wait, and the later ones as they scroll off", async () => {
    const { emulator, reported } = await printed(`${LONG}\r\nlast${ON}`);
    await emulator.replace(CUT, 20, 5);
    const fresh = Array.from({ length: 320 }, (_, i) => `row ${i}`);
    await emulator.write(OFF);
    for (let i = 0; i < fresh.length; i += 20) await emulator.write(`\r\n${fresh.slice(i, i + 20).join("\r\n")}`);
    expect(reported.filter((line) => !line.startsWith("row"))).toEqual([LONG, "last"]);
    const exact = [LONG, "last", ...fresh].slice(-90);
    await emulator.replace(exact.join("\r\n"), 20, 5);
    await emulator.write("\r\n".repeat(5));
    expect(reported).toEqual([LONG, "last", ...fresh.slice(0, -1), `${fresh.at(-1)}…`]);
  });

  it("are joined with what the program adds in the cursor's line", async () => {
    const { emulator, reported } = await printed(`${LONG}\r\nlast${ON}`);
    await emulator.replace(`${LONG.slice(0, 20)}\r\nlast\x1b[2;5H${ON}`, 20, 5);
    await emulator.write(`${OFF} word`);
    await emulator.write("\x1b[2J\x1b[H");
    expect(reported).toEqual([LONG, "last word…"]);
  });

  it("are not reported if the program draws its screen itself, except those above the screen", async () => {
    const { emulator, reported } = await printed("", true);
    emulator.holdLines(true);
    await emulator.write(`above\r\n\r\n\r\n\r\n${LONG}\r\nlast${ON}`);
    expect(reported).toEqual([]);
    await emulator.replace(CUT, 20, 5);
    await emulator.write(`${OFF}\x1b[2J\x1b[H`);
    expect(reported).toEqual(["above"]);
  });
});
