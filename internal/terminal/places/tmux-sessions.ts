import { DomainError } from "../../base/errors.ts";
import { runCommand } from "../../process/run-command.ts";
import { checkTmuxSocket } from "../finding/socket-trust.ts";
import type { PlaceConfig } from "./place-config.ts";

const TIMEOUT_MS = 5000;
const MAX_BYTES = 4 * 1024 * 1024;

/** The sessions of one tmux server. */
export interface TmuxSessions {
  readonly names: readonly string[];
  /** The server's version as tmux writes it; absent without a session. */
  readonly version?: string;
  /** The pane of each session that has only one, by the session's name. */
  readonly onlyPanes: ReadonlyMap<string, string>;
}

const NONE: TmuxSessions = { names: [], onlyPanes: new Map() };
/** The name comes last, because it may contain blanks. */
const FORMAT = "#{version} #{session_windows} #{window_panes} #{pane_id} #{session_name}";
const LINE = /^(\S+) (\d+) (\d+) (%\d+) (.*)$/;
/** tmux's messages if no server is behind the socket. After any other message, the server may still be running. */
const NO_SERVER = /no server running|error connecting|lost server|server exited/;

/**
 * The sessions of the tmux server at `socketPath`; none when no server answers there.
 * @throws DomainError `denied` for a socket that is not this user's own; `unavailable` if a flag names that server and
 * it does not answer, if it hangs, or if there is a socket but no tmux that works
 */
export async function listTmuxSessions(
  socketPath: string,
  place: PlaceConfig,
  signal: AbortSignal,
): Promise<TmuxSessions> {
  if (!(await checkTmuxSocket(socketPath, place.uid))) {
    if (place.localOnly) throw noServer(socketPath);
    return NONE;
  }
  const result = await askTmux(socketPath, ["list-sessions", "-F", FORMAT], place, signal);
  if (result.type === "exit" && result.code === 0) return sessionsIn(result.stdout);
  if (result.type === "missing") throw noTmux(socketPath);
  const failure = result.type === "failed" ? result.reason : result.stderr.trim() || `exit code ${result.code}`;
  if (result.type === "failed" || !NO_SERVER.test(failure))
    throw new DomainError("unavailable", `tmux at ${socketPath} does not answer: ${failure}`);
  if (place.localOnly) throw noServer(socketPath);
  return NONE;
}

/** @internal */
export function sessionsIn(printed: string): TmuxSessions {
  const names: string[] = [];
  const onlyPanes = new Map<string, string>();
  let version: string | undefined;
  for (const line of printed.split("\n")) {
    const [, running, windows, panes, pane = "", name = ""] = LINE.exec(line) ?? [];
    if (running === undefined) continue;
    version ??= running;
    names.push(name);
    if (windows === "1" && panes === "1") onlyPanes.set(name, pane);
  }
  return version === undefined ? NONE : { names, version, onlyPanes };
}

/** The start of the tmux session that this process runs in, in seconds since 1970; undefined outside tmux. */
export async function ownSessionStart(place: PlaceConfig, signal: AbortSignal): Promise<number | undefined> {
  const [socketPath = ""] = (place.tmux ?? "").split(",");
  if (socketPath === "" || !(await checkTmuxSocket(socketPath, place.uid))) return undefined;
  const target = place.tmuxPane === undefined ? [] : ["-t", place.tmuxPane];
  const result = await askTmux(socketPath, ["display-message", "-p", ...target, "#{session_created}"], place, signal);
  const seconds = result.type === "exit" && result.code === 0 ? Number(result.stdout.trim()) : Number.NaN;
  return seconds > 0 ? seconds : undefined;
}

function askTmux(socketPath: string, args: readonly string[], place: PlaceConfig, signal: AbortSignal) {
  const options = { cwd: place.cwd, env: place.env, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES };
  return runCommand("tmux", ["-N", "-u", "-S", socketPath, ...args], options, signal);
}

function noServer(socketPath: string): DomainError {
  return new DomainError("unavailable", `no tmux server answers at ${socketPath}`, {
    fields: { hint: "--socket takes a name as for tmux -L, or a path" },
  });
}

function noTmux(socketPath: string): DomainError {
  return new DomainError("unavailable", `cannot ask the tmux server at ${socketPath}: tmux is not in PATH`, {
    fields: { hint: "apt-get install tmux, or brew install tmux" },
  });
}
