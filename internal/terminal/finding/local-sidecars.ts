import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { checkPrivateFolder, openPrivateFolder } from "../../files/private-folder.ts";
import { readRegularFile } from "../../files/regular-file.ts";
import { replaceSecret } from "../../files/replace-secret.ts";
import type { Processes } from "../../process/process-alive.ts";
import { systemProcesses } from "../../process/process-alive.ts";

/** One running sidecar of this machine, as it announces itself. */
export interface LocalSidecar {
  /** The agent's address. */
  readonly agent: string;
  /** `host:port` of its RPC listener, or `unix:PATH`. */
  readonly listen: string;
  readonly pid: number;
  readonly sessionId: string;
  readonly project: string;
  readonly provider: string;
  readonly tls: boolean;
  /** Wall clock, ms. */
  readonly startedAt: number;
}

export interface FolderDeps {
  readonly uid: number;
  readonly processes: Processes;
}

const FILE = /^([A-Za-z0-9._-]{1,128})\.json$/;
const LISTEN = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})$/;
const UNIX_LISTEN = /^unix:\/[^\0]{1,106}$/;
const MAX_BYTES = 16 * 1024;
const MAX_FILES = 10_000;

/**
 * Writes the sidecar's file into `folder` (see `runtimeFolder`), atomically, so that `gt` finds the sidecar. Disposing
 * the result removes it. A sidecar that is killed leaves it behind: `listLocalSidecars` removes it.
 * @throws DomainError `denied` when the folder is not ours alone.
 */
export async function announceSidecar(
  folder: string,
  sidecar: LocalSidecar,
  deps: FolderDeps = systemDeps(),
): Promise<AsyncDisposable> {
  await openPrivateFolder(folder, deps.uid);
  const file = join(folder, `${sidecar.sessionId}.json`);
  replaceSecret(file, `${JSON.stringify(encode(sidecar, deps.processes.identity(sidecar.pid)))}\n`);
  return { [Symbol.asyncDispose]: () => rm(file, { force: true }) };
}

/**
 * The sidecars that run on this machine, by address and session. Files of ended processes are removed; files that are
 * not understood are left alone and not listed. Empty if there is no folder.
 * @throws DomainError `denied` when the folder is not ours alone.
 */
export async function listLocalSidecars(
  folder: string,
  deps: FolderDeps = systemDeps(),
): Promise<readonly LocalSidecar[]> {
  if (!(await checkPrivateFolder(folder, deps.uid))) return [];
  const names = (await readdir(folder)).filter((name) => FILE.test(name)).slice(0, MAX_FILES);
  const found: LocalSidecar[] = [];
  for (const name of names) {
    const path = join(folder, name);
    const file = await readSmallFile(path);
    const read = file === undefined ? undefined : parseSidecar(file.text, name);
    if (read === undefined) continue;
    if (isRunning(read, deps.processes)) found.push(read.sidecar);
    else await removeIfSame(path, file?.text ?? "");
  }
  return found.sort((a, b) => compare(a.agent, b.agent) || compare(a.sessionId, b.sessionId));
}

/** The sidecars of several folders, each once. `failed` is called for a folder that cannot be trusted. */
export async function listAllSidecars(
  folders: readonly string[],
  failed: (err: unknown) => readonly [],
): Promise<readonly LocalSidecar[]> {
  const lists = await Promise.all(folders.map((folder) => listLocalSidecars(folder).catch(failed)));
  const found = new Map(lists.flat().map((sidecar) => [`${sidecar.sessionId} ${sidecar.pid}`, sidecar]));
  return [...found.values()];
}

interface ReadSidecar {
  readonly sidecar: LocalSidecar;
  readonly identity: string | undefined;
}

/**
 * Reads one file's text; undefined when anything in it differs from what `announceSidecar` writes. `name`: the file's
 * name.
 * @internal
 */
export function parseSidecar(text: string, name: string): ReadSidecar | undefined {
  let value: Record<string, unknown>;
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== "object" || parsed === null) return undefined;
    value = parsed as Record<string, unknown>;
  } catch {
    return undefined;
  }
  const { agent, listen, pid, session_id, project, provider, tls, started_at, process_identity } = value;
  if (!isShort(agent) || !isShort(project) || !isShort(provider) || !isShort(session_id)) return undefined;
  if (session_id !== FILE.exec(name)?.[1] || typeof tls !== "boolean") return undefined;
  if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid < 1) return undefined;
  const startedAt = typeof started_at === "string" ? Date.parse(started_at) : Number.NaN;
  if (typeof listen !== "string" || !isListen(listen) || Number.isNaN(startedAt)) return undefined;
  const identity = typeof process_identity === "string" ? process_identity : undefined;
  return { sidecar: { agent, listen, pid, sessionId: session_id, project, provider, tls, startedAt }, identity };
}

function encode(sidecar: LocalSidecar, identity: string | undefined): Record<string, unknown> {
  return {
    agent: sidecar.agent,
    listen: sidecar.listen,
    pid: sidecar.pid,
    session_id: sidecar.sessionId,
    project: sidecar.project,
    provider: sidecar.provider,
    tls: sidecar.tls,
    started_at: new Date(sidecar.startedAt).toISOString(),
    process_identity: identity,
  };
}

/** A pid that now belongs to another process does not count. */
function isRunning(read: ReadSidecar, processes: Processes): boolean {
  if (!processes.exists(read.sidecar.pid)) return false;
  const now = processes.identity(read.sidecar.pid);
  return read.identity === undefined || now === undefined || now === read.identity;
}

async function readSmallFile(path: string): Promise<{ readonly text: string } | undefined> {
  try {
    return { text: await readRegularFile(path, MAX_BYTES) };
  } catch {
    return undefined; // removed meanwhile, or not a regular small file
  }
}

/** Removes the file, unless it is the file of a successor that began meanwhile. */
async function removeIfSame(path: string, text: string): Promise<void> {
  if ((await readSmallFile(path))?.text === text) await rm(path, { force: true });
}

function isListen(text: string): boolean {
  const port = Number(LISTEN.exec(text)?.[1]);
  return (port >= 1 && port <= 65_535) || UNIX_LISTEN.test(text);
}

function isShort(value: unknown): value is string {
  return typeof value === "string" && value.length <= 512;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function systemDeps(): FolderDeps {
  return { uid: process.getuid?.() ?? 0, processes: systemProcesses };
}
