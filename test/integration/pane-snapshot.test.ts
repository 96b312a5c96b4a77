import { describe, expect, it } from "vitest";
import { Emulator } from "../../internal/pane/screen/emulator.ts";
import { redrawOfCut } from "../../internal/sidecar/agent/cut-redraw.ts";
import { DrawnAgent } from "../support/agents/drawn-agent.ts";
import { COLS, type DrawnProgram, drawnProgram, ROWS } from "../support/agents/drawn-program.ts";
import { type Component, requireComponent } from "../support/cluster/components.ts";
import { fuzzEmulator, UNKNOWN } from "../support/screens/emulator-fuzz.ts";
import { loadScreenCases } from "../support/screens/screen-corpus.ts";
import { comparablePane, TmuxStage } from "../support/screens/tmux-stage.ts";

/** A RAW watcher's snapshot: the emulator draws `bytes`, and returns the text that redraws its screen. */
async function snapshotOf(bytes: Uint8Array | string, cols: number, rows: number): Promise<string> {
  const emulator = new Emulator({ cols, rows, scrollback: 1000 });
  await emulator.write(bytes);
  return emulator.redraw();
}

/**
 * Checks that two redraws make the pane's screen: the emulator's, and one by a fresh emulator that began with tmux's
 * capture.
 */
async function expectSameScreen(program: DrawnProgram, stage: TmuxStage, when: string): Promise<void> {
  const { truth, redraw } = await program.still();
  const wanted = comparablePane(truth);
  expect(wanted.rows.length, "something on the screen").toBeGreaterThan(3);
  expect(comparablePane(await stage.show(redraw)), when).toEqual(wanted);
  const fresh = redrawOfCut(truth, { history: 1000, freshTitle: "" });
  const again = await snapshotOf(fresh.text, COLS, ROWS);
  expect(comparablePane(await stage.show(again)), `armed ${when}`).toEqual(wanted);
}

it("the snapshot of every recorded screen makes the same screen in tmux, cell by cell, with cursor and modes", async () => {
  const cases = await loadScreenCases();
  const stages = new Map<string, TmuxStage>();
  await using stack = new AsyncDisposableStack();
  for (const { name, recording } of cases) {
    // tmux cuts a character that is too long for it after a joiner; printed again, the joiner joins whatever follows.
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

it("the output of common programs makes the same screen in tmux, in any order", async () => {
  const only = ["text", "wide", "place", "move", "style", "256 colours", "cursor shown", "keys", "mouse"];
  const { compared, kinds } = await fuzzEmulator({ sequences: 500, seed: 2, only }, new AbortController().signal);
  expect([...kinds].map(([kind, { example }]) => [kind, example])).toEqual([]);
  expect(compared).toBe(500);
}, 120_000);

it("random output differs from tmux only in known ways", async () => {
  const { compared, kinds } = await fuzzEmulator({ sequences: 2500, seed: 1 }, new AbortController().signal);
  expect([...kinds].filter(([kind]) => kind.startsWith(UNKNOWN)).map(([kind, { example }]) => [kind, example])).toEqual(
    [],
  );
  expect(compared).toBe(2500);
  expect(
    [...kinds.values()].reduce((sum, { count }) => sum + count, 0),
    "of 100 screens",
  ).toBeLessThan(40);
}, 120_000);

const FILE = Array.from({ length: 200 }, (_, i) => `line ${i} of a file: 日本語, é, emoji 🎉 and\ta tab`).join("\n");

const PROGRAMS: readonly {
  readonly component: Component;
  readonly args: readonly string[];
  /** The names of keys, or text to type. */
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
  it("equals tmux's own screen, as does a snapshot that begins in the middle", async (context) => {
    const path = await requireComponent(context, component);
    await using program = await drawnProgram([path, ...args], { files: { "file.txt": FILE } });
    await using stage = await TmuxStage.open(COLS, ROWS);
    for (const pressed of [[], ...keys]) {
      for (const key of pressed) {
        await (NAMED.has(key) ? program.pane.sendKeys([key]) : program.pane.sendText(key));
      }
      await expectSameScreen(program, stage, `after ${pressed.join(" ")}`);
    }
  });
});

it("the snapshot of a real Claude Code equals tmux's own screen, idle, in the middle of an answer, and in a dialog", async (context) => {
  await requireComponent(context, "claude");
  await using agent = await DrawnAgent.start("claude-2.1.330", ["--permission-mode", "default"]);
  await using stage = await TmuxStage.open(COLS, ROWS);
  const same = async (when: string) => {
    using _frozen = await agent.freeze();
    await expectSameScreen(agent.program, stage, when);
  };
  await agent.until("an empty composer", (view) => view.composer?.text === "" && view.busy === undefined);
  await same("idle");
  agent.model.wordDelayMs = 40;
  await agent.say("TALK 400");
  await agent.until("an answer under way", (view, text) => view.busy !== undefined && text.includes("word90"));
  await same("in the middle of an answer");
  agent.model.wordDelayMs = 0;
  await agent.until("its end", (view) => view.busy === undefined);
  await agent.say("RUN-TOOL touch tool-ran");
  await agent.until("a dialog", (view) => view.dialog?.kind === "permission");
  await same("in a permission dialog");
}, 120_000);
