import { spawn } from "node:child_process";
import { spawn as spawnPty } from "@lydell/node-pty";
import { ownProgram } from "../programs.ts";

const MAIN = ownProgram("gt");
const LIMIT_MS = 60_000;

export interface Transcript {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
}

type Env = Readonly<Record<string, string>>;

/** Runs `gt` as a program without a terminal. */
export async function gt(
  args: readonly string[],
  env: Env,
  options: { readonly stdin?: string; readonly cwd?: string } = {},
): Promise<Transcript> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...env },
    cwd: options.cwd ?? env["HOME"],
    stdio: ["pipe", "pipe", "pipe"],
    timeout: LIMIT_MS,
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.stdin.on("error", () => {}); // it may end without reading
  child.stdin.end(options.stdin ?? "");
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (exit) => resolve(exit));
  });
  return { stdout, stderr, code };
}

/** `gt` in a real terminal, with a person in front of it. */
export interface GtTerminal extends AsyncDisposable {
  /** Every byte it has written. */
  seen(): string;
  type(keys: string): void;
  resize(columns: number, rows: number): void;
  readonly exited: Promise<number>;
}

export function gtInTerminal(args: readonly string[], env: Env, columns = 80, rows = 24): GtTerminal {
  const pty = spawnPty(process.execPath, [MAIN, ...args], {
    name: "xterm-256color",
    cols: columns,
    rows,
    cwd: env["HOME"] ?? "/",
    env: { ...env, TERM: "xterm-256color" },
  });
  let seen = "";
  pty.onData((data) => {
    seen += data;
  });
  let over = false;
  const exited = new Promise<number>((resolve) =>
    pty.onExit(({ exitCode }) => {
      over = true;
      resolve(exitCode);
    }),
  );
  return {
    seen: () => seen,
    type: (keys) => pty.write(keys),
    resize: (cols, lines) => pty.resize(cols, lines),
    exited,
    [Symbol.asyncDispose]: async () => {
      if (!over) pty.kill("SIGKILL");
      await exited;
    },
  };
}
