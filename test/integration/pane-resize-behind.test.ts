import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Emulator } from "../../internal/pane/screen/emulator.ts";
import { redrawOfCut } from "../../internal/sidecar/agent/cut-redraw.ts";
import { eventually } from "../support/eventually.ts";
import { tmuxSandbox } from "../support/screens/tmux-sandbox.ts";

const lines = (count: number) => Array.from({ length: count }, (_, i) => `line ${i}\r\n`).join("");
const ERASED = "\x1b[2J\x1b[H";

/** A pane and an emulator of the same size that show the same bytes. */
async function twoTerminals(cols: number, rows: number) {
  const box = await tmuxSandbox({ argv: ["sh", "-c", "stty raw -echo; mkfifo in; exec cat <>in"], cols, rows });
  const path = join(box.dir, "in");
  await eventually("its FIFO", async () => execFileSync("ls", [box.dir], { encoding: "utf8" }).includes("in\n"));
  const fd = openSync(path, constants.O_RDWR);
  const emulator = new Emulator({ cols, rows, scrollback: 1000 });
  const shows = (text: string) => eventually(text, async () => (await box.pane.facts()).title === text);
  let written = 0;
  return {
    ...box,
    emulator,
    /** Resolves once both have processed the text. */
    write: async (text: string) => {
      const mark = `mark ${++written}`;
      writeSync(fd, `${text}\x1b]2;${mark}\x07`);
      await emulator.write(text);
      await shows(mark);
    },
    [Symbol.asyncDispose]: async () => {
      closeSync(fd);
      await box[Symbol.asyncDispose]();
    },
  };
}

it.each<[string, string, readonly [number, number], readonly [number, number]]>([
  ["an erased screen that becomes higher", `${lines(40)}${ERASED}`, [100, 14], [160, 50]],
  ["an erased screen with some lines that becomes higher", `${lines(40)}${ERASED}${lines(3)}`, [80, 20], [80, 45]],
  ["a full screen that becomes higher", lines(60), [80, 20], [80, 45]],
  ["blank rows that become fewer", `${lines(40)}${ERASED}${lines(3)}`, [80, 40], [80, 10]],
  ["a full screen that becomes lower", lines(60), [80, 40], [80, 10]],
])("after %s while hidden, output continues where tmux continues it", async (_, printed, before, after) => {
  await using both = await twoTerminals(...before);
  const { emulator, pane, client, write } = both;
  await write(`${printed}\x1b[?1049h\x1b[Han editor`);
  await client.command(`resize-window -t ${pane.id} -x ${after[0]} -y ${after[1]}`);
  emulator.resize(...after);
  const cut = await pane.cut(1000);
  const redrawn = new Emulator({ cols: after[0], rows: after[1], scrollback: 1000 });
  expect(cut.main?.rows).toBe(before[1]);
  await redrawn.replace(redrawOfCut(cut, { history: 1000, freshTitle: "" }).text, ...after);
  await write("\x1b[?1049lhere");
  await redrawn.write("\x1b[?1049lhere");
  const truth = (await pane.capture({ escapes: false, join: false })).split("\n").map((text) => text.trimEnd());
  const from = (await pane.facts()).cursorY;
  for (const [how, terminal] of [
    ["drawn by us", emulator],
    ["drawn from tmux", redrawn],
  ] as const) {
    const shown = terminal.screen().lines.map(({ text }) => text.trimEnd());
    expect(shown[terminal.cursor.y], how).toBe("here");
    expect(shown.slice(terminal.cursor.y + 1).join(""), how).toBe("");
    // After an erase, only tmux knows how much of the history fills a screen from above.
    const held = Math.min(from, terminal.cursor.y);
    expect(shown.slice(terminal.cursor.y - held, terminal.cursor.y), how).toEqual(truth.slice(from - held, from));
  }
});
