import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DomainError, errorText } from "../../internal/base/errors.ts";
import { ConfigError } from "../../internal/config/config-fault.ts";
import { openConfigFile, readConfigText } from "../../internal/config/config-file.ts";
import { type DeskFile, deskSchema } from "./desk-file.ts";

/** Where the configuration and the state are. */
export interface DeskPlace {
  /** Undefined: there is none, and the defaults apply. */
  readonly file?: string;
  /** The folder of the file, or the current one; absolute. */
  readonly folder: string;
  readonly stateDir: string;
}

const FILE = "desk.yaml";

/**
 * Finds the configuration: the file that is named, or `desk.yaml` here, or the folders `admin` and `docs` here.
 * @throws DomainError `invalid` when there is none of these
 */
export function findDesk(
  given: { readonly config?: string | undefined; readonly stateDir?: string | undefined },
  cwd: string,
): DeskPlace {
  const file = given.config ?? (existsSync(join(cwd, FILE)) ? FILE : undefined);
  const folder = file === undefined ? cwd : dirname(resolve(cwd, file));
  const stateDir = resolve(cwd, given.stateDir ?? join(folder, ".desk"));
  if (file !== undefined) return { file, folder, stateDir };
  if (isFolder(join(cwd, "admin")) && isFolder(join(cwd, "docs"))) return { folder, stateDir };
  throw new DomainError("invalid", `there is no ${FILE} here, and not both of the folders admin and docs`, {
    fields: { hint: "make them with: desk init" },
  });
}

/** The configuration, read again whenever its file has changed. */
export class Configuration {
  readonly #place: DeskPlace;
  readonly #onFault: (text: string) => void;
  #current: DeskFile;
  /** True if the file has a block for the supervisor, or if there is no file. */
  #hasSupervisor: boolean;
  #stamp: string;

  /** @throws ConfigError with every fault by line; DomainError `invalid` */
  constructor(place: DeskPlace, onFault: (text: string) => void) {
    this.#place = place;
    this.#onFault = onFault;
    this.#stamp = this.#stampNow();
    const read = this.#read();
    this.#current = read.value;
    this.#hasSupervisor = place.file === undefined || read.has(["supervisor"]);
  }

  get hasSupervisor(): boolean {
    return this.#hasSupervisor;
  }

  /** The current configuration; while the file is faulty, the previous one, and `onFault` is called once. */
  get current(): DeskFile {
    const stamp = this.#stampNow();
    if (stamp === this.#stamp) return this.#current;
    this.#stamp = stamp;
    try {
      this.#current = this.#read().value;
    } catch (err) {
      if (!(err instanceof DomainError)) throw err;
      const lines = err instanceof ConfigError ? err.lines : [errorText(err)];
      this.#onFault(`${lines.join("; ")}; the previous configuration stays in use`);
    }
    return this.#current;
  }

  #read() {
    const { file, folder } = this.#place;
    return file === undefined
      ? readConfigText("version: 1\n", deskSchema, { file: FILE, folder })
      : openConfigFile(file, deskSchema);
  }

  #stampNow(): string {
    const { file } = this.#place;
    const found = file === undefined ? undefined : statSync(file, { throwIfNoEntry: false, bigint: true });
    return found === undefined ? "" : `${found.ino} ${found.mtimeNs} ${found.size}`;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
