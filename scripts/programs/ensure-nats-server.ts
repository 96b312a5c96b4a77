import { access, constants, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DomainError } from "../../internal/base/errors.ts";
import { findProgram, type RunProgram, runProgram } from "./apt.ts";

export interface EnsureNatsOptions {
  /** Gets one line for each long step. */
  readonly log: (line: string) => void;
  readonly env?: NodeJS.ProcessEnv;
  readonly run?: RunProgram;
  /** The folder of the unpacked package. */
  readonly cache?: string;
}

/** Debian installs it into a folder that only root's PATH contains. */
const PROGRAM = join("usr", "sbin", "nats-server");
const HINT = "GT_NATS_SERVER=/path names one; it needs no installation: a single file from nats-io/nats-server";

/**
 * The path of a nats-server: from GT_NATS_SERVER, PATH or /usr/sbin; else Debian's package, downloaded and unpacked,
 * which starts no service and needs no root if the package lists are present.
 * @throws DomainError `unavailable` with a hint
 */
export async function ensureNatsServer(options: EnsureNatsOptions): Promise<string> {
  const { log, env = process.env, run = runProgram, cache = join(tmpdir(), "gastown-nats-server") } = options;
  const named = env["GT_NATS_SERVER"];
  if (named) {
    if (await isExecutable(named)) return named;
    throw new DomainError("unavailable", `GT_NATS_SERVER names no program: ${named}`);
  }
  const known = [join(cache, PROGRAM), join("/", PROGRAM)];
  for (const path of known) if (await isExecutable(path)) return path;
  const found = await findProgram("nats-server", env);
  if (found !== undefined) return found;
  log("nats-server is not here: downloading Debian's package");
  return await unpack(cache, { env, run });
}

async function unpack(
  cache: string,
  { env, run }: { readonly env: NodeJS.ProcessEnv; readonly run: RunProgram },
): Promise<string> {
  const [apt, dpkg] = await Promise.all([findProgram("apt-get", env), findProgram("dpkg-deb", env)]);
  if (apt === undefined || dpkg === undefined) throw missing("there is no apt-get here");
  const folder = await mkdtemp(`${cache}-`);
  try {
    const download = () => run(["sh", "-c", `cd "$1" && "$2" -q download nats-server`, "sh", folder, apt], env);
    let got = await download();
    if (got.code !== 0) {
      await run([apt, "-q", "update"], env);
      got = await download();
    }
    const deb = (await readdir(folder)).find((name) => name.endsWith(".deb"));
    if (deb === undefined) throw missing(`apt-get download: ${got.output.trimEnd().split("\n").at(-1) ?? ""}`);
    const unpacked = join(folder, "unpacked");
    await mkdir(unpacked);
    const { code, output } = await run([dpkg, "-x", join(folder, deb), unpacked], env);
    if (code !== 0) throw missing(`dpkg-deb: ${output.trimEnd()}`);
    // Another process may have been quicker: then its copy is used.
    await rename(unpacked, cache).catch(() => {});
    return join(cache, PROGRAM);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

function missing(problem: string): DomainError {
  return new DomainError("unavailable", `nats-server is needed: ${problem}`, { fields: { hint: HINT } });
}
