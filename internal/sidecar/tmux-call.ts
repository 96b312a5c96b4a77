import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { withoutTmux } from "../tmux/environment.ts";
import type { SidecarOptions } from "./options.ts";
import { statePaths } from "./state-dir.ts";

const run = promisify(execFile);

/** tmux may take this long for one answer. */
const ANSWER_MS = 2000;

/** Where an agent makes processes for ever, a moment with room for one more is waited for. */
const NO_ROOM: ReadonlySet<unknown> = new Set(["EAGAIN", "ENOMEM"]);
const TRIES = 100;
const TRY_EVERY_MS = 20;

/** One command to the sidecar's tmux by a program of its own, for when no client may be there: its output, or undefined if it failed. */
export async function callTmux(
  { tmuxProgram, stateDir, env }: Pick<SidecarOptions, "tmuxProgram" | "stateDir" | "env">,
  ...command: readonly string[]
): Promise<string | undefined> {
  const args = ["-N", "-S", statePaths(stateDir).tmuxSocket, ...command];
  const limits = { env: withoutTmux(env), timeout: ANSWER_MS, killSignal: "SIGKILL" } as const;
  for (let i = 0; i < TRIES; i++) {
    try {
      return (await run(tmuxProgram, args, limits)).stdout;
    } catch (err) {
      if (!NO_ROOM.has((err as NodeJS.ErrnoException).code)) return undefined;
      await sleep(TRY_EVERY_MS);
    }
  }
  return undefined;
}
