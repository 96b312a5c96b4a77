import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { withoutTmux } from "../tmux/environment.ts";
import type { SidecarOptions } from "./options.ts";
import { statePaths } from "./state-dir.ts";

const run = promisify(execFile);

/** tmux may take this long for one answer. */
const ANSWER_MS = 2000;

/** One command to the sidecar's tmux by a program of its own, for when no client may be there: its output, or undefined if it failed. */
export async function callTmux(
  { tmuxProgram, stateDir, env }: Pick<SidecarOptions, "tmuxProgram" | "stateDir" | "env">,
  ...command: readonly string[]
): Promise<string | undefined> {
  const args = ["-N", "-S", statePaths(stateDir).tmuxSocket, ...command];
  const limits = { env: withoutTmux(env), timeout: ANSWER_MS, killSignal: "SIGKILL" } as const;
  try {
    return (await run(tmuxProgram, args, limits)).stdout;
  } catch {
    return undefined;
  }
}
