import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeFifo, readFifo } from "../../../internal/files/fifo.ts";
import { Emulator } from "../../../internal/pane/screen/emulator.ts";
import type { PaneCut, TmuxPane } from "../../../internal/tmux/pane/pane.ts";
import { eventually } from "../eventually.ts";
import { tmuxSandbox } from "../screens/tmux-sandbox.ts";

export const COLS = 100;
export const ROWS = 30;
const HISTORY = 1000;

export interface DrawnProgram extends AsyncDisposable {
  readonly pane: TmuxPane;
  /** Has processed every byte that the program has printed, from the first on. */
  readonly emulator: Emulator;
  /** The pane and its snapshot at the same byte, once the program has been silent for a moment. */
  still(): Promise<{ readonly truth: PaneCut; readonly redraw: string }>;
}

/** A program in a real tmux, also drawn by our emulator. It starts in a folder that contains `files`. */
export async function drawnProgram(
  argv: readonly [string, ...string[]],
  options: { readonly files?: Readonly<Record<string, string>>; readonly cwd?: string } = {},
): Promise<DrawnProgram> {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), "gt-drawn-"));
  stack.defer(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
  for (const [name, text] of Object.entries(options.files ?? {})) await writeFile(join(dir, name), text);
  const env = { TERM: "tmux-256color", LANG: "C.UTF-8", HOME: dir };
  const script = 'while [ ! -e "$0" ]; do sleep 0.02; done; exec "$@"';
  const go = join(dir, "go");
  const box = stack.use(
    await tmuxSandbox({
      argv: ["sh", "-c", script, go, ...argv],
      cols: COLS,
      rows: ROWS,
      env,
      cwd: options.cwd ?? dir,
    }),
  );
  const fifo = join(dir, "out.fifo");
  await makeFifo(fifo, process.env);
  const emulator = new Emulator({ cols: COLS, rows: ROWS, scrollback: HISTORY });
  await box.pane.cut(0, fifo);
  const stop = new AbortController();
  let printedAt = performance.now();
  let printed = 0;
  const take = async (chunk: Uint8Array) => {
    printedAt = performance.now();
    printed += chunk.length;
    await emulator.write(chunk);
  };
  const reading = readFifo(fifo, take, stop.signal);
  stack.defer(async () => {
    stop.abort();
    await reading;
  });
  await writeFile(go, "");
  const all = stack.move();
  return {
    pane: box.pane,
    emulator,
    still: () =>
      eventually("a still screen", async () => {
        const before = printedAt;
        if (printed < 500) return undefined; // it has not drawn itself yet
        await sleep(Math.max(0, 150 - (performance.now() - printedAt)));
        const truth = await box.pane.cut(HISTORY);
        await sleep(250);
        return printedAt === before && { truth, redraw: emulator.redraw() };
      }),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
