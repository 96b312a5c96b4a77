import { DomainError } from "../../../internal/base/errors.ts";
import { runCommand } from "../../../internal/process/run-command.ts";
import { checkTmuxSocket } from "../../../internal/terminal/finding/socket-trust.ts";
import type { PlaceConfig } from "./place-config.ts";

const TIMEOUT_MS = 5000;
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * Names of the sessions of the tmux server at `socketPath`; none when no server answers there.
 * @throws DomainError `denied` for a socket that is not this user's own; `unavailable` when that server was asked for by flag and does not answer, or hangs.
 */
export async function listTmuxSessions(
  socketPath: string,
  place: PlaceConfig,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (!(await checkTmuxSocket(socketPath, place.uid))) {
    if (place.localOnly) throw noServer(socketPath);
    return [];
  }
  const result = await askTmux(socketPath, ["list-sessions", "-F", "#{session_name}"], place, signal);
  if (result.type === "exit" && result.code === 0) return result.stdout.split("\n").filter((name) => name !== "");
  if (result.type === "failed")
    throw new DomainError("unavailable", `tmux at ${socketPath} does not answer: ${result.reason}`);
  if (place.localOnly) throw result.type === "missing" ? noTmux() : noServer(socketPath);
  return [];
}

/** Seconds since 1970 when the tmux session that we run in began; undefined outside of tmux. */
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

function noTmux(): DomainError {
  return new DomainError("unavailable", "tmux is not installed", {
    fields: { hint: "apt-get install tmux, or brew install tmux" },
  });
}
