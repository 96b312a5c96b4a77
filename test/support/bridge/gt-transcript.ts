import { spawn as spawnPty } from "@lydell/node-pty";
import { programFile } from "../programs.ts";
import { type Ran, runToEnd } from "../run-to-end.ts";

const MAIN = programFile("gt");
const LIMIT_MS = 60_000;

type Env = Readonly<Record<string, string>>;

/** Runs `gt` as a program without a terminal. */
export async function gt(
  args: readonly string[],
  env: Env,
  options: { readonly stdin?: string; readonly cwd?: string } = {},
): Promise<Ran> {
  const { stdin: input, cwd = env["HOME"] } = options;
  return await runToEnd(process.execPath, [MAIN, ...args], { env, timeoutMs: LIMIT_MS, input, cwd });
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
