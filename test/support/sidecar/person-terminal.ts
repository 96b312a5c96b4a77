import { readFileSync } from "node:fs";
import { spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import { programFile } from "../programs.ts";
import { until } from "./sidecar.ts";

const MAIN = programFile("gt");

export interface PersonSetup {
  /** Typed at a shell; empty: nothing is typed. `gt` is our program. */
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cols?: number;
  readonly rows?: number;
}

/** A person at a real terminal: a pty with a shell in it, and an emulator that answers as terminals do. */
export interface PersonTerminal extends AsyncDisposable {
  /** Rows of the screen, blanks at their ends removed. */
  rows(): readonly string[];
  /** The screen as one text. */
  text(): string;
  readonly terminal: InstanceType<typeof xterm.Terminal>;
  /** Every received byte, as latin1. */
  raw(): string;
  type(keys: string): void;
  resize(cols: number, rows: number): void;
  /** Waits until the screen contains the text, or the condition holds. */
  sees(what: string | RegExp | (() => boolean), ms?: number): Promise<void>;
  /** The pid of the only program that the shell is running. */
  childPid(): Promise<number>;
  /** Takes the terminal away, as a crash of its emulator does: only a program of the shell's session gets a signal. */
  vanish(): void;
}

/** A shell whose prompt is `$ `, in which `gt` runs our program. */
export function personTerminal({ command, env, cols = 100, rows = 30 }: PersonSetup): PersonTerminal {
  const terminal = new xterm.Terminal({ cols, rows, scrollback: 1000, allowProposedApi: true, logLevel: "off" });
  const setUp = `gt() { "$GT_NODE" "$GT_MAIN" "$@"; }\n`;
  const pty = spawn("/bin/sh", [], {
    name: "xterm-256color",
    cols,
    rows,
    cwd: env["HOME"] ?? "/",
    encoding: null,
    env: { PS1: "$ ", ENV: "", GT_NODE: process.execPath, GT_MAIN: MAIN, ...env, TERM: "xterm-256color" },
  });
  let raw = "";
  let over = false;
  pty.onData((data: string | Buffer) => {
    raw += Buffer.from(data).toString("latin1");
    terminal.write(Buffer.from(data));
  });
  terminal.onData((answer) => pty.write(answer));
  const exited = new Promise<void>((resolve) =>
    pty.onExit(() => {
      over = true;
      resolve();
    }),
  );
  const screenRows = () =>
    Array.from({ length: terminal.rows }, (_, y) => {
      const { active } = terminal.buffer;
      return active.getLine(active.baseY + y)?.translateToString(true) ?? "";
    });
  const text = () => screenRows().join("\n");
  pty.write(setUp);
  if (command !== "") pty.write(`${command}\n`);
  return {
    rows: screenRows,
    text,
    terminal,
    raw: () => raw,
    type: (keys) => pty.write(keys),
    resize: (width, height) => {
      terminal.resize(width, height);
      pty.resize(width, height);
    },
    sees: async (what, ms = 60_000) => {
      const fits = () =>
        typeof what === "function" ? what() : typeof what === "string" ? text().includes(what) : what.test(text());
      await until(
        `${what} on the screen`,
        ms,
        () => fits() || undefined,
        () => `--\n${text()}\n--`,
      );
    },
    childPid: () => until("a program in the shell", 30_000, () => childOf(pty.pid)),
    // node-pty has this method, but not its types: it closes the terminal itself; `kill` only sends a signal.
    vanish: () => (pty as typeof pty & { destroy(): void }).destroy(),
    [Symbol.asyncDispose]: async () => {
      if (!over) pty.kill("SIGHUP");
      const kill = setTimeout(() => !over && pty.kill("SIGKILL"), 2000);
      await exited;
      clearTimeout(kill);
    },
  };
}

function childOf(pid: number): number | undefined {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean);
  return child === undefined ? undefined : Number(child);
}
