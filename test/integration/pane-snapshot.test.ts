import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { redrawOfCut } from "../../internal/pane/cut-redraw.ts";
import { Emulator } from "../../internal/pane/emulator.ts";
import { makeFifo, readFifo } from "../../internal/tmux/output-fifo.ts";
import type { PaneCut } from "../../internal/tmux/pane.ts";
import { type Component, requireComponent } from "../support/components.ts";
import { fuzzEmulator } from "../support/emulator-fuzz.ts";
import { loadScreenCases } from "../support/screen-corpus.ts";
import { eventually, tmuxSandbox } from "../support/tmux-sandbox.ts";
import { comparablePane, TmuxStage } from "../support/tmux-stage.ts";

/** What a RAW watcher's snapshot makes on a terminal: drawn by the emulator from `bytes`, redrawn on a real tmux. */
async function snapshotOf(bytes: Uint8Array | string, cols: number, rows: number): Promise<string> {
  const emulator = new Emulator({ cols, rows, scrollback: 1000 });
  await emulator.write(bytes);
  return emulator.redraw();
}

it("the snapshot of every recorded screen makes the same screen in tmux, cell by cell, with cursor and modes", async () => {
  const cases = await loadScreenCases();
  const stages = new Map<string, TmuxStage>();
  await using stack = new AsyncDisposableStack();
  for (const { name, recording } of cases) {
    // tmux cuts a character that is too long for it behind a joiner; printed again, that joins whatever follows.
    if (/\u200d(?!\p{Extended_Pictographic})/u.test(recording.ansi)) continue;
    const { cols, rows } = recording;
    const size = `${cols}x${rows}`;
    const stage = stages.get(size) ?? stack.use(await TmuxStage.open(cols, rows));
    stages.set(size, stage);
    const open = recording.alternate ? "\x1b[?1049h" : "";
    const cursor = `\x1b[${recording.cursorY + 1};${recording.cursorX + 1}H`;
    const bytes = `${open}\x1b[?7l${recording.ansi}\x1b[?7h${cursor}`;
    const truth = comparablePane(await stage.show(bytes));
    const shown = comparablePane(await stage.show(await snapshotOf(bytes, cols, rows)));
    expect(shown, name).toEqual(truth);
  }
}, 120_000);

it("what most programs print makes the same screen in tmux, in whatever order it comes", async () => {
  const only = ["text", "wide", "place", "move", "style", "256 colours", "cursor shown", "keys", "mouse"];
  const { compared, kinds } = await fuzzEmulator({ sequences: 500, seed: 2, only }, new AbortController().signal);
  expect([...kinds].map(([kind, { example }]) => [kind, example])).toEqual([]);
  expect(compared).toBe(500);
}, 120_000);

/** A program in a real tmux, its output drawn here from its first byte on. */
async function running(argv: readonly [string, ...string[]], files: Readonly<Record<string, string>>) {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), "gt-snapshot-"));
  stack.defer(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text);
  const env = { TERM: "tmux-256color", LANG: "C.UTF-8", HOME: dir };
  const script = 'while [ ! -e "$0" ]; do sleep 0.02; done; exec "$@"';
  const go = join(dir, "go");
  const box = stack.use(
    await tmuxSandbox({ argv: ["sh", "-c", script, go, ...argv], cols: 100, rows: 30, env, cwd: dir }),
  );
  const fifo = join(dir, "out.fifo");
  await makeFifo(fifo, process.env);
  const emulator = new Emulator({ cols: 100, rows: 30, scrollback: 1000 });
  await box.pane.cut(0, fifo);
  const stop = new AbortController();
  let printedAt = performance.now();
  let printed = 0;
  const reading = readFifo(
    fifo,
    async (chunk) => {
      printedAt = performance.now();
      printed += chunk.length;
      await emulator.write(chunk);
    },
    stop.signal,
  );
  stack.defer(async () => {
    stop.abort();
    await reading;
  });
  await writeFile(go, "");
  const all = stack.move();
  /** The pane and its snapshot at the same byte: once nothing has been printed for a moment. */
  const still = async (): Promise<{ readonly truth: PaneCut; readonly redraw: string }> =>
    eventually("a still screen", async () => {
      const before = printedAt;
      if (printed < 500) return undefined; // it has not drawn itself yet
      await sleep(Math.max(0, 150 - (performance.now() - printedAt)));
      const truth = await box.pane.cut(1000);
      await sleep(50);
      return printedAt === before && { truth, redraw: emulator.redraw() };
    });
  return { box, still, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

const FILE = Array.from({ length: 200 }, (_, i) => `line ${i} of a file: 日本語, é, emoji 🎉 and\ta tab`).join("\n");

const PROGRAMS: readonly {
  readonly component: Component;
  readonly args: readonly string[];
  /** Names of keys, or text to type. */
  readonly keys: readonly (readonly string[])[];
}[] = [
  {
    component: "vim",
    args: ["-u", "NONE", "-N", "-c", "syntax on", "file.txt"],
    keys: [["5j", "i"], ["x"], ["Escape"], [":split", "Enter"], [":set mouse=a", "Enter"]],
  },
  { component: "less", args: ["-N", "file.txt"], keys: [["Space"], ["/150", "Enter"], ["k"]] },
  { component: "htop", args: ["-d", "100"], keys: [["Down"], ["F6"]] },
];
const NAMED: ReadonlySet<string> = new Set(["Escape", "Enter", "Space", "Down", "F6"]);

describe.each(PROGRAMS)("the snapshot of $component", ({ component, args, keys }) => {
  it("equals tmux's own screen, and so does one that begins in the middle", async (context) => {
    const path = await requireComponent(context, component);
    await using program = await running([path, ...args], { "file.txt": FILE });
    await using stage = await TmuxStage.open(100, 30);
    for (const pressed of [[], ...keys]) {
      for (const key of pressed) {
        await (NAMED.has(key) ? program.box.pane.sendKeys([key]) : program.box.pane.sendText(key));
      }
      const { truth, redraw } = await program.still();
      const wanted = comparablePane(truth);
      expect(wanted.rows.length, "something on the screen").toBeGreaterThan(3);
      expect(comparablePane(await stage.show(redraw)), `after ${pressed.join(" ")}`).toEqual(wanted);
      const fresh = redrawOfCut(truth, { history: 1000, freshTitle: "" });
      const again = await snapshotOf(fresh.text, 100, 30);
      expect(comparablePane(await stage.show(again)), `armed after ${pressed.join(" ")}`).toEqual(wanted);
    }
  });
});
