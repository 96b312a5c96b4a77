import { basename, dirname } from "node:path";
import { withoutTmux } from "../../../internal/tmux/client/environment.ts";

export interface TmuxAttach {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface TmuxAttachOptions {
  readonly socketPath: string;
  readonly session: string;
  readonly readOnly: boolean;
  /** TMUX, as tmux sets it for programs inside: `path,pid,session`. */
  readonly inside: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * The command that attaches a person's terminal to a local session. From inside the same server the present client
 * switches over, because tmux within itself shows itself; a read-only attachment always opens its own client, which
 * does not affect the size.
 */
export function tmuxAttachCommand({ socketPath, session, readOnly, inside, env }: TmuxAttachOptions): TmuxAttach {
  const target = ["-t", `=${session}`];
  const [insidePath = ""] = (inside ?? "").split(",");
  if (!readOnly && insidePath !== "" && samePath(insidePath, socketPath)) {
    return { args: ["-u", "-S", socketPath, "switch-client", ...target], env };
  }
  const flags = readOnly ? ["-r"] : [];
  return { args: ["-N", "-u", "-S", socketPath, "attach-session", ...flags, ...target], env: withoutTmux(env) };
}

function samePath(one: string, other: string): boolean {
  return dirname(one) === dirname(other) && basename(one) === basename(other);
}
