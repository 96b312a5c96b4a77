import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { UpdateKind, WatchMode } from "../internal/gen/gastown/v1/sidecar_pb.ts";
import { abortOnExit } from "../internal/rpc/client/transport.ts";
import { tmuxSandbox } from "../test/support/screens/tmux-sandbox.ts";
import { type RunningSidecar, startSidecar, until } from "../test/support/sidecar/sidecar.ts";
import type { BenchContext } from "./context.ts";
import { type Mark, MarkScanner } from "./marks.ts";
import { type PaneProgram, paneProgram } from "./pane-program.ts";
import { cpuMs } from "./proc.ts";

/** A pane whose output is being read. */
export interface WatchedPane extends AsyncDisposable {
  readonly writer: PaneProgram;
  readonly marks: Mark[];
  /** The CPU time so far of the process that reads the pane. */
  cpuMs(): number;
  /** The number of gaps in the stream so far, as reported to a watcher that was too slow. */
  gaps(): number;
}

export interface WatchedBySidecar extends WatchedPane {
  readonly sidecar: RunningSidecar;
}

/** Ours: the sidecar, and a RAW watcher over plaintext HTTP/2. */
export async function watchedBySidecar({ program, env }: BenchContext): Promise<WatchedBySidecar> {
  await using stack = new AsyncDisposableStack();
  const writer = stack.use(await paneProgram());
  const sidecar = stack.use(await startSidecar({ program, env, agent: "generic", command: writer.command }));
  const stop = new AbortController();
  const marks: Mark[] = [];
  const scanner = new MarkScanner((mark) => marks.push(mark));
  let updates = 0;
  let gaps = 0;
  const watch = async () => {
    const request = { mode: WatchMode.RAW, intervalMs: 10 };
    for await (const update of abortOnExit((signal) => sidecar.client.watchOutput(request, { signal }), stop.signal)) {
      updates++;
      if (update.gap !== undefined) gaps++;
      if (update.kind === UpdateKind.CHANGE) scanner.push(update.data);
    }
  };
  const watching = watch().catch((err: unknown) => {
    if (!stop.signal.aborted) throw err;
  });
  stack.defer(async () => {
    stop.abort();
    await watching;
  });
  await until("the first update", 10_000, () => updates > 0 || undefined);
  const all = stack.move();
  return {
    sidecar,
    writer,
    marks,
    cpuMs: () => cpuMs(sidecar.servingPid()),
    gaps: () => gaps,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** The baseline: `pipe-pane -O` into a process that only reads, in the same tmux with the same settings. */
export async function watchedByBareReader(): Promise<WatchedPane> {
  await using stack = new AsyncDisposableStack();
  const writer = stack.use(await paneProgram());
  const sandbox = stack.use(await tmuxSandbox({ argv: writer.command, cols: 160, rows: 50 }));
  const fifo = join(sandbox.dir, "output.fifo");
  execFileSync("mkfifo", ["-m", "600", fifo]);
  const file = join(import.meta.dirname, "peers/bare-reader.ts");
  const reader = spawn(process.execPath, [...process.execArgv, file, fifo], { stdio: ["ignore", "pipe", "inherit"] });
  stack.defer(async () => {
    const exited = once(reader, "exit");
    if (reader.exitCode === null && reader.signalCode === null && reader.kill("SIGTERM")) await exited;
  });
  const marks: Mark[] = [];
  const isReading = Promise.withResolvers<void>();
  createInterface({ input: reader.stdout }).on("line", (line) => {
    if (line === "reading") isReading.resolve();
    else marks.push(JSON.parse(line));
  });
  await isReading.promise;
  execFileSync("tmux", ["-N", "-S", sandbox.socketPath, "pipe-pane", "-O", "-t", "=claude:", `exec cat > '${fifo}'`]);
  const all = stack.move();
  return {
    writer,
    marks,
    cpuMs: () => cpuMs(reader.pid ?? 0),
    gaps: () => 0,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
