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
 * The command that attaches a person's terminal to a local session. Inside the same tmux server, the current client
 * switches to that session: a second client in one of the server's panes would display itself. A read-only attachment
 * always opens its own client, which does not affect the size.
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
