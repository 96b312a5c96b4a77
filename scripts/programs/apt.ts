import { spawn } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";

/**
 * Resolves with the program's exit code and all of its output. Never rejects: a program that cannot be started has code
 * 127.
 */
export type RunProgram = (
  argv: readonly [string, ...string[]],
  env: NodeJS.ProcessEnv,
) => Promise<{ readonly code: number; readonly output: string }>;

export interface AptOptions {
  /** Gets one line for each long step. */
  readonly log: (line: string) => void;
  readonly env: NodeJS.ProcessEnv;
  readonly run: RunProgram;
}

/** Installs Debian packages; needs root. Returns the error's text; undefined on success. */
export async function aptInstall(
  apt: string,
  packages: readonly string[],
  { log, env, run }: AptOptions,
): Promise<string | undefined> {
  const quiet = { ...env, DEBIAN_FRONTEND: "noninteractive" };
  const steps: readonly (readonly [string, ...string[]])[] = [
    [apt, "-q", "update"],
    [apt, "-q", "install", "--yes", "--no-install-recommends", ...packages],
  ];
  for (const argv of steps) {
    const name = argv
      .slice(1)
      .filter((word) => !word.startsWith("-"))
      .join(" ");
    log(`apt-get ${name} …`);
    const started = performance.now();
    const { code, output } = await run(argv, quiet);
    if (code !== 0) return `apt-get ${name} failed (exit ${code}): ${output.trimEnd().split("\n").at(-1) ?? ""}`;
    log(`apt-get ${name}: done in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  }
  return undefined;
}

/** The absolute path of the first program of that name in PATH. */
export async function findProgram(name: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  for (const folder of (env["PATH"] ?? "").split(delimiter)) {
    if (!folder.startsWith("/")) continue;
    const path = join(folder, name);
    const ok = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (ok) return path;
  }
  return undefined;
}

/**
 * Implemented without execa, whose import takes longer than all that `npm start` uses this for, to ask for a version.
 */
export const captureOutput: RunProgram = ([program, ...args], env) =>
  new Promise((resolve) => {
    const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.on("error", (err) => resolve({ code: 127, output: err.message }));
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
