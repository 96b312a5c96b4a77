import { access, chmod, constants, cp, lstat, mkdir, readdir, rename, rm } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import { DomainError } from "../../internal/base/errors.ts";
import { systemReason } from "../../internal/files/system-reason.ts";
import { makeTemporaryFolder } from "../../internal/files/temporary-folder.ts";
import { captureOutput, findProgram, type RunProgram } from "./apt.ts";

export interface EnsureNatsOptions {
  /** Gets one line for each long step. */
  readonly log: (line: string) => void;
  readonly env?: NodeJS.ProcessEnv;
  readonly run?: RunProgram;
  /** Default: the system's root. */
  readonly root?: string;
}

/** Debian installs nats-server into a folder that only root's PATH contains. */
const PROGRAM = join("usr", "sbin", "nats-server");
const HINT = "GT_NATS_SERVER=/path names one; it needs no installation: a single file from nats-io/nats-server";

/**
 * The path of a nats-server: from GT_NATS_SERVER, an earlier download, /usr/sbin or PATH; else downloads and unpacks
 * Debian's package, which starts no service and needs no root if the package lists are present.
 * @throws DomainError `unavailable` with a hint
 */
export async function ensureNatsServer(options: EnsureNatsOptions): Promise<string> {
  const { log, env = process.env, run = captureOutput, root = "/" } = options;
  const named = env["GT_NATS_SERVER"];
  if (named) {
    if (await isExecutable(named)) return named;
    throw new DomainError("unavailable", `GT_NATS_SERVER names no program: ${named}`);
  }
  const cache = cacheOf(env);
  if (cache !== undefined && (await isOwn(cache)) && (await isExecutable(join(cache, PROGRAM))))
    return join(cache, PROGRAM);
  if (await isExecutable(join(root, PROGRAM))) return join(root, PROGRAM);
  const found = await findProgram("nats-server", env);
  if (found !== undefined) return found;
  if (cache === undefined) throw missing("no location for Debian's package: HOME is not set");
  log("nats-server is missing: downloading Debian's package");
  return await unpack(cache, { env, run });
}

/** The folder of the unpacked package, in a place where no other user can create it and supply a program to run. */
function cacheOf({ XDG_CACHE_HOME: base, HOME: home }: NodeJS.ProcessEnv): string | undefined {
  const above = base !== undefined && isAbsolute(base) ? base : home ? join(home, ".cache") : undefined;
  return above === undefined ? undefined : join(above, "gastown", "nats-server");
}

/**
 * Whether the folder belongs to this user and no one else may write to it: an inherited HOME or XDG_CACHE_HOME can be
 * another user's.
 */
async function isOwn(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(() => undefined);
  return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
}

async function unpack(
  cache: string,
  { env, run }: { readonly env: NodeJS.ProcessEnv; readonly run: RunProgram },
): Promise<string> {
  const [apt, dpkg] = await Promise.all([findProgram("apt-get", env), findProgram("dpkg-deb", env)]);
  if (apt === undefined || dpkg === undefined) throw missing("there is no apt-get here");
  const folder = await makeTemporaryFolder("gastown-nats-server-");
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
    return await keep(unpacked, cache);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Moves the unpacked package into the cache. If another process was faster, its copy is used. */
async function keep(unpacked: string, cache: string): Promise<string> {
  const part = `${cache}.${process.pid}`;
  try {
    await mkdir(dirname(cache), { recursive: true, mode: 0o700 });
    await cp(unpacked, part, { recursive: true, verbatimSymlinks: true });
    await chmod(part, 0o700);
    await rename(part, cache).catch(() => {});
  } catch (err) {
    throw missing(`it cannot be kept in ${cache}: ${systemReason(err, "folder")}`);
  } finally {
    await rm(part, { recursive: true, force: true });
  }
  if (await isOwn(cache)) return join(cache, PROGRAM);
  throw missing(`${cache} belongs to someone else, or others may write it`);
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
