import { accessSync, closeSync, constants, fstatSync, lstatSync, type Stats, writeSync } from "node:fs";
import { dirname } from "node:path";
import { DomainError } from "../base/errors.ts";
import { openPlainFile } from "./plain-file.ts";
import { systemReason } from "./system-reason.ts";

const { O_APPEND, O_CREAT, O_WRONLY, W_OK, X_OK } = constants;

/**
 * A file that lines are appended to, created with mode 0600. If it was renamed or removed, as by logrotate, it is
 * opened again under its name: the next line is in the new file.
 */
export class AuditFile implements Disposable {
  readonly #path: string;
  readonly #onError: (err: unknown) => void;
  #open: { readonly fd: number; readonly found: Stats } | undefined;

  /** @throws DomainError `precondition` for a path that is not a plain file; else as `openSync` */
  constructor(path: string, onError: (err: unknown) => void) {
    this.#path = path;
    this.#onError = onError;
    this.#open = openFile(path);
  }

  /** Appends a whole line; a failure calls `onError`, and the line is lost. */
  write(line: string): void {
    try {
      writeSync(this.#current(), line);
    } catch (err) {
      this.#onError(err);
    }
  }

  [Symbol.dispose](): void {
    if (this.#open !== undefined) closeSync(this.#open.fd);
    this.#open = undefined;
  }

  #current(): number {
    const named = lstatSync(this.#path, { throwIfNoEntry: false });
    const { found } = this.#open ?? {};
    if (named === undefined || named.ino !== found?.ino || named.dev !== found.dev) {
      this[Symbol.dispose]();
      this.#open = openFile(this.#path);
    }
    return (this.#open as { readonly fd: number }).fd;
  }
}

/**
 * Checks that an `AuditFile` can append to `path`, or be created there. Creates nothing.
 * @throws DomainError `invalid` with the path and the reason
 */
export function checkAuditFile(path: string): void {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) accessSync(dirname(path), W_OK | X_OK);
    else if (found.isFile()) accessSync(path, W_OK);
    else
      throw new Error(
        `it is ${found.isSymbolicLink() ? "a link" : found.isDirectory() ? "a folder" : "no plain file"}`,
      );
  } catch (cause) {
    const reason = systemReason(cause, "folder");
    throw new DomainError("invalid", `cannot write to the audit log ${path}: ${reason}`, { cause });
  }
}

function openFile(path: string) {
  const fd = openPlainFile(path, O_WRONLY | O_APPEND | O_CREAT);
  return { fd, found: fstatSync(fd) };
}
