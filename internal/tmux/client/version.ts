import { execFile } from "node:child_process";
import type { Environment } from "../../base/environment.ts";
import { DomainError, errorText } from "../../base/errors.ts";
import { withoutTmux } from "./environment.ts";

export interface TmuxVersion {
  readonly major: number;
  readonly minor: number;
  /** The letter of a patch release, or empty. */
  readonly suffix: string;
  /** As tmux writes it: `3.3a`, `next-3.8`. */
  readonly text: string;
}

/** The first version that has `-D`, subscriptions, and control clients without pane output. */
const OLDEST = { major: 3, minor: 2, suffix: "" };
const PROBE_MS = 5000;

/**
 * Returns the version of a tmux program, if it is new enough.
 * @throws DomainError `precondition` when it is missing, cannot be run, or is older than 3.2
 */
export async function probeVersion(tmuxProgram: string, env: Environment): Promise<TmuxVersion> {
  return usableVersion(await askVersion(tmuxProgram, env));
}

/**
 * Parses the version that `tmux -V` printed. @throws DomainError `precondition` when the text contains no version, or
 * one older than 3.2
 */
export function usableVersion(printed: string): TmuxVersion {
  const version = parseVersion(printed);
  if (compareVersions(version, OLDEST) < 0) {
    throw new DomainError("precondition", `tmux ${version.text} is too old: 3.2 or newer is needed`);
  }
  return version;
}

/**
 * Parses the output of `tmux -V`.
 * @throws DomainError `precondition` when there is no version in it
 * @internal
 */
export function parseVersion(printed: string): TmuxVersion {
  const match = /^tmux ((?:[a-z]+-)?(\d+)\.(\d+)([a-z]?)\S*)\s*$/.exec(printed);
  if (!match)
    throw new DomainError("precondition", `not a version of tmux: ${JSON.stringify(printed.trim().slice(0, 60))}`);
  const [, text = "", major, minor, suffix = ""] = match;
  return { major: Number(major), minor: Number(minor), suffix, text };
}

/** Negative when `a` is older than `b`, 0 when they are the same release. */
export function compareVersions(a: Omit<TmuxVersion, "text">, b: Omit<TmuxVersion, "text">): number {
  if (a.major !== b.major) return a.major - b.major;
  if (a.minor !== b.minor) return a.minor - b.minor;
  return Number(a.suffix > b.suffix) - Number(a.suffix < b.suffix);
}

function askVersion(tmuxProgram: string, env: Environment): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  execFile(tmuxProgram, ["-V"], { env: withoutTmux(env), timeout: PROBE_MS, killSignal: "SIGKILL" }, (err, stdout) => {
    if (!err) resolve(stdout);
    else if ("code" in err && err.code === "ENOENT") reject(missing(tmuxProgram));
    else reject(new DomainError("precondition", `cannot run ${tmuxProgram} -V: ${errorText(err)}`, { cause: err }));
  });
  return promise;
}

function missing(tmuxProgram: string): DomainError {
  const how = "install it with your package manager, e.g. apt-get install tmux, dnf install tmux or brew install tmux";
  return new DomainError("precondition", `no ${tmuxProgram} found: tmux 3.2 or newer is needed; ${how}`);
}
