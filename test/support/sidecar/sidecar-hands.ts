import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { RunningSidecar } from "./sidecar.ts";

const run = promisify(execFile);

/** A command to the tmux server of a running sidecar, past the sidecar: `PANE` stands for its pane. */
export async function inItsTmux(sidecar: Pick<RunningSidecar, "stateDir">, ...words: string[]): Promise<string> {
  const args = words.map((word) => (word === "PANE" ? "=claude:" : word));
  const { stdout } = await run("tmux", ["-N", "-u", "-S", join(sidecar.stateDir, "tmux.sock"), ...args]);
  return stdout;
}
