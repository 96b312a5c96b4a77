import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Clock } from "../../internal/base/clock.ts";
import { DomainError } from "../../internal/base/errors.ts";

export interface ChildProgram {
  /** The name in the message when it ends by itself. */
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly env: NodeJS.ProcessEnv;
  readonly onLine?: (line: string) => void;
  /** The time from SIGTERM to SIGKILL, ms. Default 20 s: a database is stopped first. */
  readonly stopMs?: number;
}

const STOP_MS = 20_000;

/**
 * Runs a program until the signal, then ends it in order. @throws DomainError `unavailable` when it ends by itself
 */
export async function runChild(clock: Clock, options: ChildProgram, signal: AbortSignal): Promise<void> {
  const { name, command, env, onLine, stopMs = STOP_MS } = options;
  const [program, ...args] = command;
  // In its own process group: Ctrl-C in the terminal reaches only us, and we end it in order.
  const child = spawn(program, args, { env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  let last = "";
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on("line", (line) => {
      last = line;
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
  if (!signal.aborted) throw new DomainError("unavailable", `${name} ended: ${last}`);
}
