import { basename, join } from "node:path";
import { HOOK_SCRIPT, hookScript } from "./hook-script.ts";
import type { LaunchContext, LaunchPlan } from "./profile.ts";

/**
 * Variables of a terminal or an agent that the caller itself runs in; an agent that sees them refuses to nest or
 * reports elsewhere.
 */
const FOREIGN_ENV = ["TMUX", "TMUX_PANE"];

/** A launch that changes nothing but the environment that every agent gets. */
export function plainLaunch(context: LaunchContext, unsetEnv: readonly string[] = []): LaunchPlan {
  return {
    argv: context.command,
    env: { ...context.threads?.env, GT_HOOK_FIFO: context.hookFifo, GT_HOOK_DIR: context.hookDir },
    unsetEnv: [...FOREIGN_ENV, ...unsetEnv],
    files: {},
  };
}

/** The path of the hook script in the launch's folder, and the script as a file of the plan. */
export function hookFile(context: LaunchContext): {
  readonly path: string;
  readonly files: Readonly<Record<string, string>>;
} {
  const path = join(context.stateDir, HOOK_SCRIPT);
  return { path, files: { [path]: hookScript() } };
}

/**
 * The command with `flags` inserted right after the agent's own program, which need not be the first word (`env A=1
 * claude …`), and before a prompt or a subcommand. Returns the command itself if the program is not in it.
 */
export function withFlags(
  command: readonly [string, ...string[]],
  program: RegExp,
  flags: readonly string[],
): readonly [string, ...string[]] {
  const at = command.findIndex((word) => program.test(basename(word)));
  if (at < 0) return command;
  const [first, ...rest] = command;
  return [first, ...rest.slice(0, at), ...flags, ...rest.slice(at)];
}
