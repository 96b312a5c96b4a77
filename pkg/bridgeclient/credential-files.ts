import { type FSWatcher, lstatSync, realpathSync, watch } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../../internal/base/clock.ts";
import type { Task } from "../../internal/base/task-group.ts";
import { type Credentials, readCredentials } from "./auth.ts";
import type { JwtOptions, MtlsOptions } from "./options.ts";

/** The files are also polled, because some volumes report no changes. */
const POLL_MS = 10_000;
/** The wait between a change and reading the files, so that all related files are written. */
const SETTLE_MS = 200;

export interface CredentialFilesDeps {
  readonly clock: Clock;
  /** Called with each set of files that differs from the previous one and is usable as a whole. */
  readonly onChanged: (credentials: Credentials) => void;
}

/** Watches the client's files. While they cannot be used, e.g. half written, the previous set stays in use. */
export class CredentialFiles implements Task {
  readonly #deps: CredentialFilesDeps;
  readonly #mtls: MtlsOptions;
  readonly #keyPath: string;
  #inUse: string;

  constructor(
    deps: CredentialFilesDeps,
    mtls: MtlsOptions,
    jwt: Pick<JwtOptions, "privateKeyPath">,
    first: Credentials,
  ) {
    this.#deps = deps;
    this.#mtls = mtls;
    this.#keyPath = jwt.privateKeyPath;
    this.#inUse = textOf(first);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const changed = new AbortController();
      const close = watchFolders(this.#folders(), () => changed.abort());
      this.#look(); // after watching has begun, so that no change is missed
      await this.#sleep(POLL_MS, AbortSignal.any([signal, changed.signal]));
      close();
      await this.#sleep(SETTLE_MS, signal);
    }
  }

  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    return this.#deps.clock.sleep(ms, signal).catch(() => {});
  }

  #look(): void {
    let read: Credentials;
    try {
      read = readCredentials(this.#mtls, this.#keyPath);
    } catch {
      return; // files are half changed, or one is missing for a moment: the next look reads them
    }
    const text = textOf(read);
    if (text === this.#inUse) return;
    this.#inUse = text;
    this.#deps.onChanged(read);
  }

  /**
   * The folders of the files and of their links' targets: swapping a link changes the folder that contains the link.
   */
  #folders(): ReadonlySet<string> {
    const { caCertPath, certPath, keyPath, crlPath = [] } = this.#mtls;
    const paths = [caCertPath, certPath, keyPath, this.#keyPath, ...[crlPath].flat()];
    return new Set(paths.flatMap((path) => [...linkFolder(dirname(path)), dirname(path), dirname(realPathOf(path))]));
  }
}

function textOf({ tls, lists, signingKey }: Credentials): string {
  return JSON.stringify([tls, lists, signingKey.export({ format: "jwk" })]);
}

/** The folder that contains `folder`, if `folder` is a link. */
function linkFolder(folder: string): readonly string[] {
  return lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink() ? [dirname(folder)] : [];
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function watchFolders(folders: Iterable<string>, onChange: () => void): () => void {
  const watchers: FSWatcher[] = [];
  for (const folder of folders) {
    try {
      watchers.push(watch(folder, { persistent: false }, onChange).on("error", onChange));
    } catch {
      // The folder does not exist now, or the system's watches are used up: the poll finds the change.
    }
  }
  return () => {
    for (const watcher of watchers) watcher.close();
  };
}
