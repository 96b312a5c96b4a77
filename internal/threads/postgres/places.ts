import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { systemProcesses } from "../../process/process-alive.ts";

/** The address of a PostgreSQL; `host`: the folder with its socket, as `pg` expects it. */
export interface PostgresAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
}

export const PORT = 5432;
export const OWNER = { user: "threads", database: "postgres" };

/** Longest path of a socket, bytes; systems allow a few more. */
const MAX_SOCKET_PATH = 100;

/**
 * The folder for the socket: `run` beside the data or, if the socket's path would be too long there, a folder in /tmp
 * that is named after the hash of `folder`.
 */
export function socketFolder(folder: string): string {
  const beside = join(folder, "run");
  if (Buffer.byteLength(`${beside}/.s.PGSQL.${PORT}`) <= MAX_SOCKET_PATH) return beside;
  return `/tmp/gt-threads-${createHash("sha256").update(folder).digest("hex").slice(0, 24)}`;
}

/** The lines of a PostgreSQL's pid file, with its pid and state; empty without the file. */
export function pidFile(data: string): readonly string[] {
  try {
    return readFileSync(join(data, "postmaster.pid"), "utf8").split("\n");
  } catch {
    return [];
  }
}

/**
 * The address of the PostgreSQL that another `threads` runs in this state folder, which this process can use too.
 * Undefined: no such server is ready.
 */
export function runningPostgres(stateDir: string): PostgresAddress | undefined {
  const folder = join(stateDir, "postgres");
  const lines = pidFile(join(folder, "data"));
  if (lines[7]?.trim() !== "ready" || !systemProcesses.exists(Number(lines[0]))) return undefined;
  return { host: socketFolder(folder), port: PORT, ...OWNER };
}
