import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { expect, it } from "vitest";
import { requireComponent } from "../support/cluster/components.ts";
import { afterwards, attached, SANE, terminalState } from "../support/sidecar/attached.ts";
import type { PersonTerminal } from "../support/sidecar/person-terminal.ts";
import { type RunningSidecar, startSidecar, until } from "../support/sidecar/sidecar.ts";

function running(...command: readonly string[]): Promise<RunningSidecar> {
  return startSidecar({ agent: "generic", command, flags: ["--restart", "never", "--linger", "10s"] });
}

const NUMBERED = Array.from({ length: 200 }, (_, i) => `line ${i + 1} 日本 ${"x".repeat(i % 40)}`).join("\n");

/** The colour and styling of the cell where `text` begins. */
function styleAt({ terminal, rows }: PersonTerminal, text: string) {
  const y = rows().findIndex((row) => row.includes(text));
  const { active } = terminal.buffer;
  const line = active.getLine(active.baseY + y);
  const x = rows()[y]?.indexOf(text) ?? 0;
  const cell = line?.getCell(x);
  return { fg: cell?.getFgColor(), bold: cell?.isBold() !== 0, inverse: cell?.isInverse() !== 0 };
}

it("drives vim: editing, keys, mouse, paste, resizing, and entering and leaving the alternate screen", async (context) => {
  const vim = await requireComponent(context, "vim");
  await using sidecar = await running("sh");
  await writeFile(join(sidecar.dir, "text"), NUMBERED);
  await using person = await attached(sidecar);
  person.type(`TERM=tmux-256color ${vim} -u NONE -N -i NONE --cmd 'set mouse=a ttymouse=sgr ruler' text\r`);
  await person.sees("line 29 ");
  await until("the mouse", 30_000, () => (terminalState(person).mouse === "none" ? undefined : true));
  person.type("\x1b[<0;7;5M\x1b[<0;7;5m"); // a click in the fifth line
  await person.sees(/5,7\b/);
  person.type("\x1b[F"); // End, as xterm writes it
  await person.sees(/5,\d+-1\d/);
  person.type("o");
  person.type("\x1b[200~pasted 漢字\x1b[201~");
  await person.sees("pasted 漢字");
  person.type("\x1b:");
  person.resize(60, 15);
  await person.sees(() => person.rows()[14]?.startsWith(":") === true);
  person.type("wq\r");
  await until("the file", 30_000, async () => {
    const text = await readFile(join(sidecar.dir, "text"), "utf8");
    return text.split("\n")[5] === "pasted 漢字" ? true : undefined;
  });
  await person.sees(() => terminalState(person).mouse === "none");
  await person.sees(/^[$#]$/m); // vim drops what is typed before the shell's prompt appears
  person.type("echo back in the shell\r");
  await person.sees(/^back in the shell/m);
  person.type("\x1d");
  expect(await afterwards(person, sidecar.dir)).toEqual({ code: 0, ...SANE });
});

it("drives less: paging, highlighted matches, and the same screen for another person who attaches", async (context) => {
  const less = await requireComponent(context, "less");
  await using sidecar = await running("sh");
  await writeFile(join(sidecar.dir, "text"), NUMBERED);
  await using person = await attached(sidecar);
  person.type(`LESS= ${less} text\r`);
  await person.sees("line 29 ");
  person.type(" ");
  await person.sees("line 58 ");
  person.type("/line 77 \r");
  await person.sees(() => person.rows()[0]?.includes("line 77 ") === true);
  expect(styleAt(person, "line 77 ").inverse).toBe(true);
  await using other = await attached(sidecar, { flags: "--read-only", cols: 100, rows: 30 });
  await other.sees(() => other.rows()[0]?.includes("line 77 ") === true);
  // The notice that another person attached disappears after a moment.
  await person.sees(() => isDeepStrictEqual(other.rows().slice(0, 28), person.rows().slice(0, 28)));
  person.type("q");
  person.type("exit\r");
  expect(await afterwards(person, sidecar.dir)).toEqual({ code: 0, ...SANE });
});

it("shows the part around the cursor if the window is larger than the terminal, and a border if it is smaller", async () => {
  await using sidecar = await running(
    "sh",
    "-c",
    "printf '\\033[31mred\\033[m'; printf '\\033[40;121Hfar away'; exec cat",
  );
  await using small = await attached(sidecar, { flags: "--read-only", cols: 80, rows: 20 });
  await small.sees("far away");
  await small.sees("the window is 160x50, your terminal 80x20: you see the part around the cursor");
  await using large = await attached(sidecar, { flags: "--read-only", cols: 180, rows: 60 });
  await large.sees("far away");
  expect(styleAt(large, "red").fg).toBe(1);
  expect(large.rows()[39]?.slice(120)).toBe(`far away${" ".repeat(32)}│`);
  expect(large.rows()[50]).toBe(`${"─".repeat(160)}┘`);
});
