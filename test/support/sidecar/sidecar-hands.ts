import { join } from "node:path";
import { execa } from "execa";
import type { RunningSidecar } from "./sidecar.ts";

/** Sends a command to the tmux server of a running sidecar, past the sidecar: `PANE` stands for its pane. */
export async function inItsTmux(sidecar: Pick<RunningSidecar, "stateDir">, ...words: string[]): Promise<string> {
  const args = words.map((word) => (word === "PANE" ? "=claude:" : word));
  const socket = join(sidecar.stateDir, "tmux.sock");
  const { stdout } = await execa("tmux", ["-N", "-u", "-S", socket, ...args], { stripFinalNewline: false });
  return stdout;
}
