import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { plainText } from "../../base/sanitise.ts";
import { systemProcesses } from "../../process/process-alive.ts";
import { processLives } from "../../process/process-lives.ts";
import { idsOf, type UnixUser } from "../../process/users/unix-user.ts";

export interface SidecarCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Its stderr is appended to this file. */
  readonly log: string;
  /** The user to run it as. Default: this process's user. */
  readonly user?: UnixUser | undefined;
}

/** The end of a sidecar's process; absent parts are unknown because it was not our child. */
export interface SidecarEnd {
  readonly code?: number | undefined;
  readonly signal?: NodeJS.Signals | undefined;
}

/** The process of a session's sidecar, which outlives this one. */
export interface SidecarProcess {
  readonly pid: number;
  /** As `Processes.identity`; empty: unknown. */
  readonly startedAt: string;
  /** Never rejects. */
  readonly ended: Promise<SidecarEnd>;
  /** Not an error if it has already ended. */
  signal(name: NodeJS.Signals): void;
}

const LOOK_EVERY_MS = 250;

/** @throws DomainError `precondition` for a program that cannot be executed */
export async function startSidecarProcess(command: SidecarCommand): Promise<SidecarProcess> {
  const { program, args, cwd, env, log, user } = command;
  const stderr = openSync(log, "a", 0o600);
  try {
    const child = spawn(program, args, {
      cwd,
      env,
      detached: true,
      stdio: ["ignore", "ignore", stderr],
      ...idsOf(user),
    });
    let isStarted = false;
    const ended = new Promise<SidecarEnd>((resolve) => {
      // After the start, the error is that we may not signal another user's process, which has not ended.
      child.on("error", () => {
        if (!isStarted) resolve({ code: 127 });
      });
      child.once("exit", (code, signal) => resolve({ code: code ?? undefined, signal: signal ?? undefined }));
    });
    await once(child, "spawn").catch((cause: unknown) => {
      throw new DomainError("precondition", `cannot start ${program}`, { cause });
    });
    isStarted = true;
    const pid = child.pid ?? 0;
    return { pid, startedAt: systemProcesses.identity(pid) ?? "", ended, signal: (name) => void child.kill(name) };
  } finally {
    closeSync(stderr);
  }
}

/** A sidecar that an earlier daemon started; undefined if it is no longer running. */
export function adoptSidecarProcess(clock: Clock, pid: number, startedAt: string): SidecarProcess | undefined {
  const lives = () => processLives(pid) && systemProcesses.identity(pid) === startedAt;
  if (pid <= 1 || startedAt === "" || !lives()) return undefined;
  const follow = async (): Promise<SidecarEnd> => {
    while (lives()) await clock.sleep(LOOK_EVERY_MS);
    return {};
  };
  const signal = (name: NodeJS.Signals) => {
    if (lives()) process.kill(pid, name);
  };
  return { pid, startedAt, ended: follow(), signal };
}

/** The last error that a sidecar logged before it ended, without the program's name; empty: none. */
export function lastErrorIn(log: string): string {
  const lines = readFileSync(log, "utf8").slice(-8192).trimEnd().split("\n");
  const error = lines.findLast((line) => line.startsWith("gt-sidecar: error: "));
  return plainText(error?.slice("gt-sidecar: error: ".length) ?? "").slice(0, 500);
}
