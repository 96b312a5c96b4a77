import { execFile } from "node:child_process";
import { closeSync, constants, fstatSync, open } from "node:fs";
import { lstat, unlink } from "node:fs/promises";
import { Socket } from "node:net";
import { aborted } from "../base/abort.ts";
import type { Environment } from "../base/environment.ts";
import { DomainError, errorText } from "../base/errors.ts";
import type { Task } from "../base/task-group.ts";
import { checkPart } from "./open-below.ts";
import type { PinnedFolder } from "./pinned-folder.ts";

/** Node has no call to make a FIFO. */
const MAKE_FIFO = "mkfifo";

/**
 * Makes a FIFO with mode 0600; an existing one is replaced.
 * @throws DomainError `already-exists` when something else has that path; `unavailable` when it cannot be made
 */
export async function makeFifo(path: string, env: Environment): Promise<void> {
  const old = await lstat(path).catch(() => undefined);
  if (old && !old.isFIFO())
    throw new DomainError("already-exists", `cannot make the FIFO ${path}: a file is in the way`);
  if (old) await unlink(path);
  await runMakeFifo(path, { env });
}

/**
 * Makes a FIFO with mode 0600 in a folder that has no entry of that name.
 * @throws DomainError `unavailable` when it cannot be made
 */
export async function makeFifoIn(folder: PinnedFolder, name: string, env: Environment): Promise<void> {
  // The descriptor of the folder closes when the program begins; its working folder stays.
  await runMakeFifo(checkPart(name), { env, cwd: folder.cwd });
}

async function runMakeFifo(path: string, options: { readonly env: Environment; readonly cwd?: string }): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  execFile(MAKE_FIFO, ["-m", "0600", "--", path], { ...options, env: { ...options.env }, timeout: 5000 }, (err) => {
    if (err) reject(new DomainError("unavailable", `cannot make the FIFO ${path}: ${errorText(err)}`, { cause: err }));
    else resolve();
  });
  await promise;
}

/**
 * Keeps a FIFO open for reading and writing without ever reading, so that its reader and its writers may come and go:
 * its content stays, and no writer gets SIGPIPE. Without a reader it holds one pipe buffer (64 KiB); then writers wait.
 */
export class FifoHolder implements Task {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Holds the FIFO until `signal` is aborted. @throws DomainError `unavailable` when it cannot be opened */
  async run(signal: AbortSignal): Promise<void> {
    const fd = await openFifo(this.#path);
    try {
      await aborted(signal);
    } finally {
      closeSync(fd);
    }
  }
}

/**
 * Reads a FIFO until `signal` is aborted, and then resolves, at once if no chunk is being handled. At most about 128
 * KiB are read ahead of `onChunk`, which is awaited, so a slow one slows the writers. Writers may come and go; one
 * reader at a time.
 * @throws DomainError `unavailable` when it is not a FIFO, or cannot be opened or read; whatever `onChunk` throws
 * @internal
 */
export async function readFifo(
  path: string,
  onChunk: (chunk: Uint8Array) => void | Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  if (!signal.aborted) await readOpenFifo(await openFifo(path), onChunk, signal);
}

/** Like `readFifo`, but reads a descriptor that is open for reading and writing, and closes it at the end. */
export async function readOpenFifo(
  fd: number,
  onChunk: (chunk: Uint8Array) => void | Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  // A socket polls the descriptor; a file stream would block one of the few pool threads for as long as nothing comes.
  const socket = new Socket({ fd, readable: true, writable: false });
  const onAbort = () => socket.destroy();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    if (signal.aborted) return;
    for await (const chunk of socket) await onChunk(chunk);
  } catch (err) {
    if (!signal.aborted) throw err;
  } finally {
    signal.removeEventListener("abort", onAbort);
    socket.destroy();
  }
}

/**
 * Opens the FIFO for writing too: a reader that is also a writer sees no end of file, and opening does not block.
 * Returns a bare descriptor, because the socket that gets it closes it.
 */
function openFifo(path: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  open(path, constants.O_RDWR | constants.O_NONBLOCK, (err, fd) => {
    if (err) reject(new DomainError("unavailable", `cannot open the FIFO ${path}: ${err.message}`, { cause: err }));
    else if (fstatSync(fd).isFIFO()) resolve(fd);
    else {
      closeSync(fd);
      reject(new DomainError("unavailable", `cannot open the FIFO ${path}: it is another kind of file`));
    }
  });
  return promise;
}
