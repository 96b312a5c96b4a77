import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Clock } from "../../base/clock.ts";
import { isWantOfRoom } from "../../process/out-of-resources.ts";
import { withoutTmux } from "../../tmux/client/environment.ts";
import type { SidecarOptions } from "../halves/options.ts";
import { statePaths } from "../halves/state-dir.ts";

const run = promisify(execFile);

/** tmux may take this long for one answer. */
const ANSWER_MS = 2000;

/**
 * How often to try while there is no room for one more process, e.g. because the agent creates processes without end.
 */
const TRIES = 100;
const TRY_EVERY_MS = 20;

/** One command to tmux; resolves to its output, or to undefined if it failed. */
export type TmuxCall = (...command: readonly string[]) => Promise<string | undefined>;

/**
 * One command to the sidecar's tmux by a separate program, because there may be no client: its output, or undefined if
 * it failed.
 */
export async function callTmux(
  clock: Clock,
  { tmuxProgram, stateDir, env }: Pick<SidecarOptions, "tmuxProgram" | "stateDir" | "env">,
  ...command: readonly string[]
): Promise<string | undefined> {
  const args = ["-N", "-S", statePaths(stateDir).tmuxSocket, ...command];
  const limits = { env: withoutTmux(env), timeout: ANSWER_MS, killSignal: "SIGKILL" } as const;
  for (let i = 0; i < TRIES; i++) {
    try {
      return (await run(tmuxProgram, args, limits)).stdout;
    } catch (err) {
      if (!isWantOfRoom(err)) return undefined;
      await clock.sleep(TRY_EVERY_MS);
    }
  }
  return undefined;
}

/** `callTmux` for one sidecar. */
export function tmuxCalls(clock: Clock, sidecar: Parameters<typeof callTmux>[1]): TmuxCall {
  return (...command) => callTmux(clock, sidecar, ...command);
}
