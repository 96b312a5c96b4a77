import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Clock } from "../../../internal/base/clock.ts";
import { DomainError } from "../../../internal/base/errors.ts";
import { nodeCommand } from "../agent-command.ts";

/** The time from SIGTERM to SIGKILL: the bridge stops its sessions first. */
const STOP_MS = 15_000;

/**
 * Runs the bridge on a configuration until `signal` aborts. @throws DomainError `unavailable` when it ends by itself
 */
export async function runBridge(
  clock: Clock,
  { root, config, env }: { readonly root: string; readonly config: string; readonly env: NodeJS.ProcessEnv },
  signal: AbortSignal,
): Promise<void> {
  const [program, ...args] = [...nodeCommand(root, "cmd/bridge/main.ts"), "--config", config];
  // In its own process group: Ctrl-C in the terminal reaches only us, and we end the bridge in order.
  const child = spawn(program ?? "", args, { env, detached: true, stdio: ["ignore", "ignore", "pipe"] });
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
  if (!signal.aborted) throw new DomainError("unavailable", `the bridge ended: ${last}`);
}
