import { createHash, randomBytes } from "node:crypto";
import { linkSync, lstatSync, rmSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { holdName } from "../../files/held-name.ts";
import { unusableStateDir } from "../../files/make-folders.ts";
import { readPlainFileSync } from "../../files/plain-file.ts";
import { removeStrange, type StatePaths } from "./state-dir.ts";

export interface LockOptions {
  /** Both halves lock the same folder, each against others of its kind. */
  readonly half: "supervise" | "serve";
  /** How long to wait for another process that is about to end. */
  readonly waitMs: number;
}

const LOOK_EVERY_MS = 50;
const MAX_SECRET_BYTES = 1024;

/**
 * Locks a state folder for this process; the system releases it when the process ends, however it ends. Linux only:
 * elsewhere nothing is locked. The lock excludes processes of the same network namespace, such as other containers of a
 * pod. A supervising half in another namespace is noticed by its socket, once it listens there.
 * @throws DomainError `already-exists` when another process still has the lock after `waitMs`; `denied` if the folder
 * cannot be written
 */
export async function lockState(clock: Clock, paths: StatePaths, options: LockOptions): Promise<AsyncDisposable> {
  const end = clock.monotonicMs() + options.waitMs;
  for (;;) {
    const lock = await tryLock(paths, options);
    if (lock !== undefined) return lock;
    if (clock.monotonicMs() >= end) break;
    await clock.sleep(LOOK_EVERY_MS);
  }
  throw new DomainError("already-exists", `another gt-sidecar is using the state folder ${paths.dir}`, {
    fields: { hint: "stop that one first, or give this one another --state-dir" },
  });
}

async function tryLock(paths: StatePaths, { half }: LockOptions): Promise<AsyncDisposable | undefined> {
  const lock = await holdName(lockName(paths, half));
  if (lock === undefined) return undefined;
  if (half === "serve" || !(await answers(paths.control))) return lock;
  await lock[Symbol.asyncDispose]();
  return undefined;
}

/**
 * A name in the kernel's table of sockets, where it lasts as long as the process that holds it. The secret keeps other
 * users from taking it; the inode distinguishes a copied folder from its original.
 */
function lockName(paths: StatePaths, half: string): string {
  const secret = secretOf(paths.lock);
  const hash = createHash("sha256")
    .update(`${half} ${lstatSync(paths.dir).ino} ${secret}`)
    .digest("hex");
  return `\0gt-sidecar-${hash}`;
}

/**
 * The secret of a state folder. The first process writes it and links the finished file into its place, so that no
 * process reads only a part.
 * @throws DomainError `denied` if something else has its name, or it cannot be written
 */
function secretOf(path: string): string {
  const there = readPlainFileSync(path, MAX_SECRET_BYTES);
  if (there !== undefined) return there;
  removeStrange(path, "file");
  const fresh = `${path}.${process.pid}.${randomBytes(4).toString("hex")}`;
  try {
    writeFileSync(fresh, randomBytes(16).toString("hex"), { mode: 0o600, flag: "wx" });
    linkSync(fresh, path);
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== "EEXIST")
      throw unusableStateDir(`cannot write the state folder's lock ${path}`, err);
  } finally {
    rmSync(fresh, { force: true });
  }
  const secret = readPlainFileSync(path, MAX_SECRET_BYTES);
  if (secret === undefined)
    throw new DomainError("denied", `cannot lock the state folder: ${path} is not a file of ours`);
  return secret;
}

function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(socketPath);
    socket.on("connect", () => resolve(true));
    socket.on("connect", () => socket.destroy());
    socket.on("error", () => resolve(false));
  });
}
