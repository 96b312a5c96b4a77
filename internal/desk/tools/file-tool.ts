import type { AllowedFiles, AllowList, ReadResult } from "../../files/allowed-files.ts";
import { cutText } from "./text-bounds.ts";

/** The record of one call of `read_file`. */
export interface FileRead {
  /** The first 4,096 bytes of the requested path. */
  readonly path: string;
  readonly result: ReadResult;
}

/** Longer paths are refused, and recorded up to this length. */
const MAX_PATH_BYTES = 4096;
/** The most names that an agent gets. */
const MAX_NAMES = 200;

/** The tool `read_file` of one half, for one turn: reads within the half's allow-list and records each read. */
export class FileTool {
  readonly #files: AllowedFiles;
  readonly #allowed: AllowList;
  readonly #onRead: (read: FileRead) => void;

  /** If `onRead` throws because it cannot record the read, `read` throws the same and returns nothing. */
  constructor(files: AllowedFiles, allowed: AllowList, onRead: (read: FileRead) => void) {
    this.#files = files;
    this.#allowed = allowed;
    this.#onRead = onRead;
  }

  read(path: string): ReadResult {
    const result = this.#files.read(path, this.#allowed);
    this.#onRead({ path: cutText(path, MAX_PATH_BYTES), result });
    return result;
  }

  /** Reads a file without recording the read, to compare many files. Undefined if the file is not readable. */
  readUnrecorded(path: string): string | undefined {
    const result = this.#files.read(path, this.#allowed);
    return result.ok ? result.text : undefined;
  }

  /** Names of readable files, at most 200. */
  names(): readonly string[] {
    return this.#files.list(this.#allowed, MAX_NAMES);
  }
}
