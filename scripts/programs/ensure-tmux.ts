// Finds a tmux that is new enough, or installs one where that is allowed.
//
//   node scripts/launch.mjs scripts/programs/ensure-tmux.ts    prints its path; exit 4 when there is none
import { DomainError } from "../../internal/base/errors.ts";
import { runMain } from "../../internal/cli/run-main.ts";
import { aptInstall, captureOutput, findProgram, type RunProgram } from "./apt.ts";

export interface Tmux {
  /** Absolute path of the program. */
  readonly path: string;
  /** The version that `tmux -V` prints, e.g. `3.3a`. */
  readonly version: string;
}

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
 * The first tmux of PATH, if it is 3.2 or newer. Otherwise installs the distribution's, as root on a system with
 * apt-get, and searches again.
 * @throws DomainError `unavailable` with a hint on how to install one.
 */
export async function ensureTmux(options: EnsureTmuxOptions): Promise<Tmux> {
  const { log, env = process.env, uid = process.getuid?.() ?? -1, run = captureOutput } = options;
  const found = await findTmux(env, run);
  if (found !== undefined && isNewEnough(found.version)) return found;
  const problem = found === undefined ? "tmux is not installed" : `${found.path} is tmux ${found.version}, too old`;
  const apt = uid === 0 ? await findProgram("apt-get", env) : undefined;
  if (apt === undefined) throw missing(problem);
  log(`${problem}: installing it with apt-get`);
  const failed = await aptInstall(apt, ["tmux"], { log, env, run });
  if (failed !== undefined) throw missing(failed);
  const installed = await findTmux(env, run);
  if (installed !== undefined && isNewEnough(installed.version)) return installed;
  throw missing(installed === undefined ? problem : `apt-get has only tmux ${installed.version}`);
}

/**
 * True for 3.2 and later; versions read `3.3a`, `next-3.8` or, for OpenBSD's own tmux, `openbsd-7.5`.
 * @internal
 */
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

function missing(problem: string): DomainError {
  return new DomainError("unavailable", `tmux ${LEAST.major}.${LEAST.minor} or newer is needed: ${problem}`, {
    fields: { hint: HINT },
  });
}

if (import.meta.main) {
  await runMain({ name: "ensure-tmux", exitCodes: { unavailable: 4 } }, async ({ stdout, stderr, env }) => {
    const { path } = await ensureTmux({ log: (line) => stderr.write(`${line}\n`), env });
    stdout.write(`${path}\n`);
    return 0;
  });
}
