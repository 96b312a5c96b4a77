import { spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  closeSync,
  cpSync,
  existsSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { raceSignal, within } from "../../base/abort.ts";
import { type BackoffOptions, backoffMs } from "../../base/backoff.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import { lockFolders } from "../../files/folder-lock.ts";
import { makeStateFolders } from "../../files/make-folders.ts";
import { systemProcesses } from "../../process/process-alive.ts";
import { sendSignal } from "../../process/send-signal.ts";
import { initialise } from "./initialise.ts";
import { OWNER, PORT, type PostgresAddress, pidFile, socketFolder } from "./places.ts";
import { findPostgres, linkLibraries, type PostgresPrograms } from "./programs.ts";
import { canUser, postgresUser, type SystemUser } from "./system-user.ts";

export interface PostgresServerOptions {
  /** The state folder of `threads`, created if it is missing; PostgreSQL uses the folder `postgres` in it. */
  readonly stateDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** See `FindOptions.from`. */
  readonly from?: string | undefined;
}

interface Deps {
  readonly clock: Clock;
  readonly logger: Logger;
}

const START_MS = 60_000;
const STOP_MS = 15_000;
const LOOK_MS = 20;
const RESTART: BackoffOptions = { firstMs: 100, maxMs: 5000, factor: 2 };
const MAX_LOG_BYTES = 16 * 1024 * 1024;

/**
 * A private PostgreSQL in a folder, with a unix socket and no port. It is created at the first start, restarted when it
 * dies, and shut down cleanly. First ends a server that a killed `threads` has left running.
 */
export class PostgresServer implements Task {
  readonly #deps: Deps;
  readonly #options: PostgresServerOptions;
  readonly #ready = Promise.withResolvers<PostgresAddress>();

  constructor(deps: Deps, options: PostgresServerOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#ready.promise.catch(() => {}); // `run` throws the same error
  }

  /** Resolves once the server accepts connections; rejects if `run` fails before. */
  get ready(): Promise<PostgresAddress> {
    return this.#ready.promise;
  }

  /**
   * @throws DomainError `unavailable` without a PostgreSQL (`problem`: `no-postgres`); `precondition` for a folder that
   * is in use, out of reach of PostgreSQL's user, or of another major version (`problem`: `folder`)
   */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#run(signal);
    } catch (err) {
      this.#ready.reject(err);
      throw err;
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { stateDir, env, from } = this.#options;
    const folder = join(stateDir, "postgres");
    const data = join(folder, "data");
    const user = postgresUser(process.getuid?.() ?? 0);
    const isOther = process.getuid?.() === 0 && user.uid !== 0;
    makeStateFolders(stateDir);
    makeStateFolders(folder);
    await using _lock = await this.#lock(folder, signal);
    if (isOther) giveTo(user, stateDir, folder);
    if (isOther && !(await canUser(user, "-x", folder, signal))) throw outOfReach(user, folder);
    const major = majorOf(data);
    const found = await findPostgres({ env, major, from }, signal);
    const programs = await reachable(found, user, stateDir, signal);
    await endLeftOver(data, this.#deps.clock, signal);
    if (major === undefined) await initialise(programs, user, data, signal);
    const sockets = socketFolder(folder);
    makeStateFolders(sockets);
    if (isOther) chownSync(sockets, user.uid, user.gid);
    const address = { host: sockets, port: PORT, ...OWNER };
    for (let attempt = 0; !signal.aborted; attempt++) {
      const began = this.#deps.clock.monotonicMs();
      await this.#serve({ programs, user, data, folder, sockets }, () => this.#ready.resolve(address), signal);
      if (signal.aborted) return;
      if (this.#deps.clock.monotonicMs() - began > 60_000) attempt = 0;
      this.#deps.logger.error({ attempt }, "PostgreSQL ended; restarting it");
      await this.#deps.clock.sleep(backoffMs(RESTART, attempt, Math.random), signal).catch(() => {});
      await endLeftOver(data, this.#deps.clock, signal);
    }
  }

  async #lock(folder: string, signal: AbortSignal): Promise<AsyncDisposable> {
    try {
      return await lockFolders(this.#deps.clock, [folder], { waitMs: 1000, signal });
    } catch (cause) {
      if (!(cause instanceof DomainError)) throw cause;
      throw new DomainError("precondition", `another threads uses the folder ${folder}`, {
        fields: { problem: "folder", hint: "stop it, or give another --state-dir" },
        cause,
      });
    }
  }

  /** Runs the server until it ends or `signal` is aborted. */
  async #serve(
    at: {
      readonly programs: PostgresPrograms;
      readonly user: SystemUser;
      readonly data: string;
      readonly folder: string;
      readonly sockets: string;
    },
    onReady: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, logger } = this.#deps;
    const log = join(at.folder, "server.log");
    if (existsSync(log) && statSync(log).size > MAX_LOG_BYTES) renameSync(log, `${log}.1`);
    const out = openSync(log, "a", 0o600);
    const child = spawn(join(at.programs.bin, "postgres"), argumentsOf(at.data, at.sockets), {
      ...(process.getuid?.() === 0 && { uid: at.user.uid, gid: at.user.gid }),
      cwd: at.data,
      env: { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" },
      stdio: ["ignore", out, out],
      detached: true, // Ctrl-C in the terminal is for this process alone, which stops the server cleanly
    });
    closeSync(out);
    const ended = new Promise<string>((resolve) => {
      child.on("error", (err) => resolve(err.message));
      child.once("exit", (code, name) => resolve(name ?? `exit code ${code}`));
    });
    let how: string | undefined;
    void ended.then((text) => (how = text));
    const deadline = clock.monotonicMs() + START_MS;
    while (how === undefined && !signal.aborted && !isReady(at.data, child.pid)) {
      if (clock.monotonicMs() > deadline) break;
      await clock.sleep(LOOK_MS, signal).catch(() => {});
    }
    if (how === undefined && !signal.aborted) onReady();
    if (how === undefined) await raceSignal(ended, signal).catch(() => {});
    if (how === undefined && child.pid !== undefined) await this.#stop(child.pid, ended);
    else logger.error({ how, log }, "PostgreSQL ended by itself");
  }

  async #stop(pid: number, ended: Promise<string>): Promise<void> {
    for (const name of ["SIGINT", "SIGQUIT", "SIGKILL"] as const) {
      sendSignal(pid, name);
      const isEnded = ended.then(() => true);
      if (await within(this.#deps.clock, STOP_MS, isEnded)) return;
    }
  }
}

function argumentsOf(data: string, sockets: string): readonly string[] {
  const settings = {
    listen_addresses: "",
    // A list: the quotes keep a comma in the path.
    unix_socket_directories: `"${sockets.replaceAll('"', '""')}"`,
    unix_socket_permissions: "0700",
    shared_buffers: "32MB",
    max_connections: "60",
    fsync: "on",
    synchronous_commit: "on",
    full_page_writes: "on",
    log_timezone: "UTC",
    timezone: "UTC",
    log_statement: "none",
    log_parameter_max_length_on_error: "0",
    // A logged statement could contain text that agents wrote.
    log_min_error_statement: "panic",
    log_error_verbosity: "terse",
  };
  const given = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  return ["-D", data, "-p", String(PORT), ...given];
}

/** Whether the server accepts connections, by the state in its pid file. */
function isReady(data: string, pid: number | undefined): boolean {
  const lines = pidFile(data);
  return Number(lines[0]) === pid && lines[7]?.trim() === "ready";
}

function majorOf(data: string): number | undefined {
  try {
    return Number.parseInt(readFileSync(join(data, "PG_VERSION"), "utf8"), 10);
  } catch {
    return undefined;
  }
}

/** Ends a server that a killed `threads` has left running. The caller holds the folder's lock. */
async function endLeftOver(data: string, clock: Clock, signal: AbortSignal): Promise<void> {
  const pid = Number(pidFile(data)[0]);
  if (!Number.isSafeInteger(pid) || pid <= 1 || !isPostgresOf(pid, data)) return;
  for (const name of ["SIGINT", "SIGQUIT", "SIGKILL"] as const) {
    sendSignal(pid, name);
    for (let waited = 0; waited < STOP_MS; waited += LOOK_MS) {
      if (!systemProcesses.exists(pid)) return;
      await clock.sleep(LOOK_MS, signal);
    }
  }
}

/** Whether the process is the PostgreSQL of this folder: its pid may have been reused. */
function isPostgresOf(pid: number, data: string): boolean {
  if (!systemProcesses.exists(pid)) return false;
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(data);
  } catch {
    return process.platform !== "linux";
  }
}

function giveTo(user: SystemUser, stateDir: string, folder: string): void {
  chmodSync(stateDir, 0o711);
  chmodSync(folder, 0o700);
  chownSync(folder, user.uid, user.gid);
}

function outOfReach(user: SystemUser, folder: string): DomainError {
  return new DomainError("precondition", `PostgreSQL runs as ${user.name}, who cannot reach ${folder}`, {
    fields: {
      problem: "folder",
      hint: "give a --state-dir that this user can reach, such as /var/lib/gastown-threads",
    },
  });
}

/** The programs, or a copy of them in the state folder if PostgreSQL's user cannot run them. */
async function reachable(
  found: PostgresPrograms,
  user: SystemUser,
  stateDir: string,
  signal: AbortSignal,
): Promise<PostgresPrograms> {
  const isComplete = found.home === undefined || existsSync(join(found.home, "lib", "libpq.so.5"));
  if (isComplete && (await canUser(user, "-x", join(found.bin, "postgres"), signal))) return found;
  const { home } = found;
  if (home === undefined) throw outOfReach(user, found.bin);
  const programs = join(stateDir, "programs", found.version);
  if (!existsSync(programs)) {
    const part = `${programs}.${process.pid}.part`;
    makeStateFolders(dirname(programs));
    chmodSync(dirname(programs), 0o755);
    rmSync(part, { recursive: true, force: true });
    cpSync(home, part, { recursive: true, verbatimSymlinks: true });
    linkLibraries(part);
    chmodSync(part, 0o755);
    renameSync(part, programs);
  }
  return { ...found, home: programs, bin: join(programs, "bin") };
}
