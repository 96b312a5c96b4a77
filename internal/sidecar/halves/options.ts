import type { ProfileName } from "../../agents/known-programs.ts";
import type { LaunchContext, LaunchPlan } from "../../agents/profile.ts";
import type { ThreadTools } from "../../agents/thread-tools.ts";
import type { RestartMode } from "../../process/restart-policy.ts";
import type { SidecarIdentity } from "../../session/sidecar-identity.ts";
import { statePaths } from "./state-dir.ts";

/** Everything both halves need to know; read once from flags and environment by `cmd/gt-sidecar`. */
export interface SidecarOptions {
  readonly stateDir: string;
  readonly agent: ProfileName;
  readonly command: readonly [string, ...string[]];
  /** Absolute. */
  readonly workdir: string;
  readonly home: string;
  readonly tmuxProgram: string;
  /** Environment of tmux, and therefore of the agent. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cols: number;
  readonly rows: number;
  readonly historyLimit: number;
  readonly rawBytes: number;
  /** Events kept for readers that reconnect, by count and by bytes. */
  readonly eventBuffer: number;
  readonly eventBytes: number;
  /** Secrets in the text of events and in our logs, in RE2's syntax. */
  readonly redactPatterns: readonly string[];
  readonly restart: RestartMode;
  readonly lingerMs: number;
  readonly stallAfterMs: number;
  readonly identity: SidecarIdentity;
  /** The tools of `threads`, for the agent; absent: none. */
  readonly threads?: ThreadTools | undefined;
}

/** The name of a sidecar's only tmux session, whatever the agent. */
export const SESSION = "claude";

/** The command that tmux starts. */
export function paneCommand(options: SidecarOptions, plan: LaunchPlan) {
  return { argv: plan.argv, env: plan.env, unsetEnv: plan.unsetEnv, cwd: options.workdir };
}

/** The inputs of the profile's launch; both halves must derive the same plan. */
export function launchContext({ stateDir, command, home, env, threads }: SidecarOptions): LaunchContext {
  const { hookFifo, hookDir } = statePaths(stateDir);
  return { command, stateDir, hookFifo, hookDir, home, env, threads };
}
