import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { deskCommand } from "../programs.ts";
import { runToEnd } from "../run-to-end.ts";

/** The command that a bed runs unless it is given another one. */
export const DESK = deskCommand();

/** The output of a call, and its exit code. */
interface DeskCall {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A folder with a desk in it. */
export interface DeskBed extends AsyncDisposable {
  readonly folder: string;
  /** A path in the desk's folder. */
  path(name: string): string;
  write(name: string, text: string | Buffer): void;
  read(name: string): string;
  /** Runs the command in the folder to its end, with `input` on stdin. */
  run(args: readonly string[], input?: string | Buffer, env?: Readonly<Record<string, string>>): Promise<DeskCall>;
  /** Runs the command with `--jsonl`; returns the events. */
  events(mode: "admin" | "user", lines: readonly object[]): Promise<readonly DeskEvent[]>;
  /** The records in a journal of this desk, without torn lines. */
  records(half: "back" | "front"): readonly Record<string, unknown>[];
  /** The processes of the customer's side. */
  fronts(): readonly number[];
  /** Kills the customer's side and waits for its end. */
  endFronts(): Promise<void>;
}

export type DeskEvent = Readonly<Record<string, unknown>> & { readonly type: string };

/** The minimum that a person's machine provides: neither an account nor a HOME. */
export const PLAIN_ENVIRONMENT = { PATH: process.env["PATH"] ?? "" };

/** A desk as `desk init` makes it, with `files` beside or in place of its own; its commands get `bedEnv`. */
export function deskBed(
  files: Readonly<Record<string, string>> = {},
  bedEnv: Readonly<Record<string, string>> = {},
  command = DESK,
): DeskBed {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "desk-")));
  const path = (name: string) => join(folder, name);
  const write = (name: string, content: string | Buffer) => {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), content);
  };
  const all = { "admin/prices.md": "wholesale 4.20\n", "docs/hours.md": "Opening hours: nine to six.\n", ...files };
  for (const [name, content] of Object.entries(all)) write(name, content);
  const bed: DeskBed = {
    ...{ folder, path, write },
    read: (name) => readFileSync(path(name), "utf8"),
    run: (args, input = "", env = {}) => callDesk({ command, folder }, args, input, { ...bedEnv, ...env }),
    async events(mode, lines) {
      const input = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
      const { code, out, err } = await bed.run(["--mode", mode, "--jsonl"], input);
      if (code !== 0) throw new Error(`desk ended with ${code}: ${err}`);
      return parseJsonLines(out) as readonly DeskEvent[];
    },
    records: (half) => journalRecords(path(`.desk/${half}/journal.jsonl`)),
    fronts: () => frontsOf(folder),
    async endFronts() {
      for (const pid of frontsOf(folder)) kill(pid);
      while (frontsOf(folder).length > 0) await sleep(10);
    },
    async [Symbol.asyncDispose]() {
      for (const pid of frontsOf(folder)) kill(pid);
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return bed;
}

async function callDesk(
  { command, folder }: { readonly command: string; readonly folder: string },
  args: readonly string[],
  input: string | Buffer,
  env: object,
): Promise<DeskCall> {
  const { code, stdout, stderr } = await runToEnd(command, args, {
    ...{ cwd: folder, input },
    env: { ...PLAIN_ENVIRONMENT, ...env },
  });
  return { code, out: stdout, err: stderr };
}

/** Each line of a text as JSON. */
export function parseJsonLines(lines: string): readonly Record<string, unknown>[] {
  return lines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

function journalRecords(path: string): readonly Record<string, unknown>[] {
  const whole = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return whole.map((line) => JSON.parse(line.slice(line.indexOf(" ") + 1)) as Record<string, unknown>);
}

/** Found by their command lines, because they get no variable of the tests' environment. */
function frontsOf(folder: string): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => commandLine(pid).includes(`--inside\0${folder}/`))
    .map(Number);
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}
