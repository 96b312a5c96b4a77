// Finds a tmux that is new enough, or installs one where that is allowed.
//
//   node scripts/launch.mjs scripts/ensure-tmux.ts    prints its path; exit 4 when there is none
import { spawn } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { DomainError } from "../internal/base/errors.ts";
import { runMain } from "../internal/cli/run-main.ts";

export interface Tmux {
  /** Absolute path of the program. */
  readonly path: string;
  /** As `tmux -V` says it, e.g. `3.3a`. */
  readonly version: string;
}

/** Ends with the program's exit code and all it printed. Never rejects: a program that cannot be started is code 127. */
export type RunProgram = (
  argv: readonly [string, ...string[]],
  env: NodeJS.ProcessEnv,
) => Promise<{ readonly code: number; readonly output: string }>;

export interface EnsureTmuxOptions {
  /** Gets one line for each long step. */
  readonly log: (line: string) => void;
  readonly env?: NodeJS.ProcessEnv;
  readonly uid?: number;
  readonly run?: RunProgram;
}

const LEAST = { major: 3, minor: 2 };
const HINT =
  "Debian/Ubuntu: apt install tmux · Fedora: dnf install tmux · Arch: pacman -S tmux · Alpine: apk add tmux · macOS: brew install tmux";

/**
 * The first tmux of PATH, if it is 3.2 or newer. Otherwise, for root on a system with apt-get, installs the
 * distribution's and looks again.
 * @throws DomainError `unavailable` with a hint how to install one.
 */
export async function ensureTmux(options: EnsureTmuxOptions): Promise<Tmux> {
  const { log, env = process.env, uid = process.getuid?.() ?? -1, run = runProgram } = options;
  const found = await findTmux(env, run);
  if (found !== undefined && isNewEnough(found.version)) return found;
  const problem = found === undefined ? "tmux is not installed" : `${found.path} is tmux ${found.version}, too old`;
  const apt = uid === 0 ? await findProgram("apt-get", env) : undefined;
  if (apt === undefined) throw missing(problem);
  log(`${problem}: installing it with apt-get`);
  await install(apt, log, env, run);
  const installed = await findTmux(env, run);
  if (installed !== undefined && isNewEnough(installed.version)) return installed;
  throw missing(installed === undefined ? problem : `apt-get has only tmux ${installed.version}`);
}

/** True for 3.2 and later; versions read `3.3a`, `next-3.8` or, of OpenBSD's own, `openbsd-7.5`. */
export function isNewEnough(version: string): boolean {
  const match = /(\d+)\.(\d+)/.exec(version);
  if (version.startsWith("openbsd")) return true;
  const [major, minor] = [Number(match?.[1] ?? 0), Number(match?.[2] ?? 0)];
  return major > LEAST.major || (major === LEAST.major && minor >= LEAST.minor);
}

async function findTmux(env: NodeJS.ProcessEnv, run: RunProgram): Promise<Tmux | undefined> {
  const path = await findProgram("tmux", env);
  if (path === undefined) return undefined;
  const { code, output } = await run([path, "-V"], env);
  const version = /^tmux (\S+)/.exec(output)?.[1];
  return code === 0 && version !== undefined ? { path, version } : undefined;
}

async function findProgram(name: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
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

async function install(
  apt: string,
  log: (line: string) => void,
  env: NodeJS.ProcessEnv,
  run: RunProgram,
): Promise<void> {
  const quiet = { ...env, DEBIAN_FRONTEND: "noninteractive" };
  const steps: readonly (readonly [string, ...string[]])[] = [
    [apt, "-q", "update"],
    [apt, "-q", "install", "--yes", "--no-install-recommends", "tmux"],
  ];
  for (const argv of steps) {
    const name = argv
      .slice(1)
      .filter((word) => !word.startsWith("-"))
      .join(" ");
    log(`apt-get ${name} …`);
    const started = performance.now();
    const { code, output } = await run(argv, quiet);
    if (code !== 0) throw missing(`apt-get ${name} failed (exit ${code}): ${lastLine(output)}`);
    log(`apt-get ${name}: done in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  }
}

function lastLine(output: string): string {
  return output.trimEnd().split("\n").at(-1) ?? "";
}

function missing(problem: string): DomainError {
  return new DomainError("unavailable", `tmux ${LEAST.major}.${LEAST.minor} or newer is needed: ${problem}`, {
    fields: { hint: HINT },
  });
}

const runProgram: RunProgram = ([program, ...args], env) =>
  new Promise((resolve) => {
    const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.on("error", (err) => resolve({ code: 127, output: err.message }));
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });

if (import.meta.main) {
  await runMain({ name: "ensure-tmux", exitCodes: { unavailable: 4 } }, async ({ stdout, stderr, env }) => {
    const { path } = await ensureTmux({ log: (line) => stderr.write(`${line}\n`), env });
    stdout.write(`${path}\n`);
    return 0;
  });
}
