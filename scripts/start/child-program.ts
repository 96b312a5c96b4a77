import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Clock } from "../../internal/base/clock.ts";
import { DomainError } from "../../internal/base/errors.ts";

export interface ChildProgram {
  /** The program's name in the error when the program ends by itself. */
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly env: NodeJS.ProcessEnv;
  /** The folder in which the program starts. */
  readonly cwd?: string;
  readonly onLine?: (line: string) => void;
  /**
   * Returns the reason for the program's end that a line of its output gives; undefined if the line gives none.
   * Default: each line is a reason.
   */
  readonly reasonIn?: (line: string) => string | undefined;
  /** Whether the program may end by itself with exit code 0. */
  readonly mayEnd?: boolean;
  /** The time from SIGTERM to SIGKILL, ms. Default 20 s, because some programs first stop a database. */
  readonly stopMs?: number;
}

const STOP_MS = 20_000;

/**
 * Runs a program until the signal is aborted, and then ends it in order.
 * @throws DomainError `unavailable` when the program ends by itself; with `mayEnd`, only if its exit code is not 0
 */
export async function runChild(clock: Clock, options: ChildProgram, signal: AbortSignal): Promise<void> {
  const { name, command, env, cwd, onLine, reasonIn = (line) => line, mayEnd = false, stopMs = STOP_MS } = options;
  const [program, ...args] = command;
  // In its own process group: Ctrl-C in the terminal reaches only us, and we end it in order.
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  let reason = "";
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on("line", (line) => {
      reason = reasonIn(line) ?? reason;
      onLine?.(line);
    });
  }
  const closed = new AbortController();
  const closing = once(child, "close").finally(() => closed.abort());
  const stop = () => {
    child.kill("SIGTERM");
    clock.sleep(stopMs, closed.signal).then(
      () => child.kill("SIGKILL"),
      () => {},
    );
  };
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  await closing;
  if (signal.aborted || (mayEnd && child.exitCode === 0)) return;
  const how = child.exitCode === null ? `was ended by ${child.signalCode}` : `ended with ${child.exitCode}`;
  throw new DomainError("unavailable", `${name} ${how}${reason && `: ${reason}`}`);
}
