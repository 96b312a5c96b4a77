import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Clock } from "../../../internal/base/clock.ts";
import { DomainError } from "../../../internal/base/errors.ts";

/** The time from SIGTERM to SIGKILL: a database is stopped first. */
const STOP_MS = 20_000;

export interface ChildOptions {
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** The name in the error. */
  readonly what: string;
}

/** Runs one of our programs until `signal` aborts. @throws DomainError `unavailable` when it ends by itself */
export async function runChild(clock: Clock, { command, env, what }: ChildOptions, signal: AbortSignal): Promise<void> {
  const [program = "", ...args] = command;
  // In its own process group: Ctrl-C in the terminal reaches only us, and we end it in order.
  const child = spawn(program, args, { env, detached: true, stdio: ["ignore", "ignore", "pipe"] });
  let last = "";
  createInterface({ input: child.stderr }).on("line", (line) => {
    last = line;
  });
  const closed = new AbortController();
  const closing = once(child, "close").finally(() => closed.abort());
  const stop = () => {
    child.kill("SIGTERM");
    clock.sleep(STOP_MS, closed.signal).then(
      () => child.kill("SIGKILL"),
      () => {},
    );
  };
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  await closing;
  if (!signal.aborted) throw new DomainError("unavailable", `${what} ended: ${last}`);
}
