import { realpathSync } from "node:fs";
import { basename, isAbsolute, join, resolve } from "node:path";
import { DomainError } from "../../base/errors.ts";

/** The settings that select the local tmux server. */
export interface SocketQuery {
  /** `--socket` or GT_TMUX_SOCKET: a name as for `tmux -L`, or a path (it has a slash). */
  readonly socket?: string | undefined;
  readonly townRoot?: string | undefined;
  /** GT_TOWN_SOCKET, a name or a path. */
  readonly townSocket?: string | undefined;
  /** TMUX, as tmux sets it for programs inside: `path,pid,session`. */
  readonly tmux?: string | undefined;
  /** TMUX_TMPDIR; tmux's own default is /tmp. */
  readonly tmuxTmpdir?: string | undefined;
  readonly uid: number;
}

const NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/;

/**
 * Socket paths of the local tmux servers to ask, in order. A server that was named is the only one; otherwise the
 * town's, GT_TOWN_SOCKET's and tmux's default, of which the first with the wanted session wins.
 * @throws DomainError `invalid` for a socket that is neither a name nor a path.
 */
export function socketPaths(query: SocketQuery): readonly string[] {
  if (query.socket !== undefined) return [toPath(query.socket, query)];
  const paths: string[] = [];
  if (query.townRoot !== undefined) paths.push(toPath(townSocketName(query.townRoot), query));
  if (query.townSocket !== undefined) paths.push(toPath(query.townSocket, query));
  const [inside = ""] = (query.tmux ?? "").split(",");
  paths.push(isAbsolute(inside) ? inside : toPath("default", query));
  return [...new Set(paths)];
}

/**
 * Upstream's socket name of a town: its folder's name and six hex digits of its canonical path's SHA-256.
 * @internal
 */
export function townSocketName(townRoot: string): string {
  const clean = basename(townRoot)
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, "-")
    .replace(/^-+|-+$/g, "");
  // Loaded here: `import` would load all of it for every call of gt, although most calls need no hash.
  const { createHash } = process.getBuiltinModule("node:crypto");
  const hash = createHash("sha256").update(canonical(townRoot)).digest("hex").slice(0, 6);
  return `${clean === "" ? "default" : clean}-${hash}`;
}

function canonical(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path); // as upstream: a town that is gone still has a name
  }
}

function toPath(socket: string, query: SocketQuery): string {
  if (socket.includes("/")) return resolve(socket);
  if (!NAME.test(socket))
    throw new DomainError(
      "invalid",
      `not a tmux socket: ${JSON.stringify(socket)} (write a name as for tmux -L, or a path)`,
    );
  return join(tmuxFolder(query.tmuxTmpdir), `tmux-${query.uid}`, socket);
}

/** The folder that tmux chooses: TMUX_TMPDIR if that exists, otherwise /tmp. */
function tmuxFolder(tmuxTmpdir: string | undefined): string {
  if (tmuxTmpdir === undefined || tmuxTmpdir === "") return "/tmp";
  try {
    return realpathSync(tmuxTmpdir);
  } catch {
    return "/tmp";
  }
}
