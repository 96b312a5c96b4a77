import { dirname } from "node:path";
import { raceSignal, within } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError, errorText } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import { type CheckedTls, checkListNumbers, checkTls, type TlsFault, type TlsFiles } from "../../pki/tls-files.ts";
import type { TrustOptions } from "../../pki/trust.ts";
import { type FolderWatch, watchFolders } from "./folder-watch.ts";
import { readTlsFiles, readTlsPaths, type TlsPaths } from "./read-tls-files.ts";

export interface TlsFolderDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with each usable set of files, including the first; if it throws, the set counts as unusable. */
  readonly onLoaded?: (tls: CheckedTls) => void;
  /** Called once for each set of files that is refused. */
  readonly onRefused?: (reason: TlsFault) => void;
  /**
   * Called with false when the set in use has expired without a usable successor, and with true when one is in use
   * again.
   */
  readonly onUsable?: (usable: boolean) => void;
  /** Default: the real files. Replaced in tests. */
  readonly watch?: () => FolderWatch;
  readonly readTlsFiles?: () => Promise<TlsFiles>;
}

export interface TlsFolderOptions {
  /** The folder, or the paths of the files. */
  readonly dir: string | TlsPaths;
  readonly side: "server" | "client";
  /** Further checks of the files, beyond `checkTls`. @throws DomainError `invalid` */
  readonly check?: (tls: CheckedTls) => void;
  /** Which CAs must have a current revocation list. Default: none. */
  readonly trust?: TrustOptions | undefined;
  /** How often to check without a notification. Default 30 s. */
  readonly pollMs?: number;
  /**
   * Delay between a change and the check, so that related files are all written; also the minimum interval. Default 200
   * ms.
   */
  readonly settleMs?: number;
}

/** The files, or why they cannot be read. */
type Read = TlsFiles | { readonly fault: TlsFault; readonly why: string };

/**
 * Follows a folder with `tls.crt`, `tls.key`, `ca.crt` and optionally `crl.pem` that is replaced from time to time (a
 * mounted Secret, or a plain folder that is written or renamed into), or the same files at separate paths. A set of
 * files is used only if `checkTls` accepts it as a whole; while a later set is torn, expired or inconsistent, the
 * previous one stays in use.
 */
export class TlsFolder implements Task {
  readonly #deps: TlsFolderDeps;
  readonly #options: TlsFolderOptions;
  readonly #first = Promise.withResolvers<CheckedTls>();
  #current: CheckedTls | undefined;
  /** The set that was checked last. */
  #seen: { readonly text: string; readonly refused: boolean } | undefined;
  #inUse = "";
  /** The set in use was within its dates at the last check. */
  #usable = true;

  constructor(deps: TlsFolderDeps, options: TlsFolderOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** The set in use; undefined until there is one. */
  get current(): CheckedTls | undefined {
    return this.#current;
  }

  /** The first usable set. Rejects with the signal's reason. */
  first(signal: AbortSignal): Promise<CheckedTls> {
    return raceSignal(this.#first.promise, signal);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { pollMs = 30_000, settleMs = 200, dir } = this.#options;
    const watch = this.#deps.watch ?? (() => watchFolders(foldersOf(dir)));
    while (!signal.aborted) {
      using watching = watch(); // before reading, so that no change is missed
      await this.#look();
      await within(this.#deps.clock, Math.min(pollMs, this.#untilEnd()), watching.changed, signal);
      await this.#deps.clock.sleep(settleMs, signal).catch(() => {});
    }
  }

  async #look(): Promise<void> {
    const now = this.#deps.clock.now();
    const read = await this.#read();
    const text = JSON.stringify(read);
    // A refused set is checked again: it may not have been valid yet, or the clock may have been set.
    if (text !== this.#seen?.text || this.#seen.refused) this.#judge(read, text, now);
    this.#tellOfEnd(now);
  }

  /** Milliseconds until the set in use expires; Infinity once its expiry has been reported. */
  #untilEnd(): number {
    if (this.#current === undefined || !this.#usable) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.#current.notAfter - this.#deps.clock.now());
  }

  async #read(): Promise<Read> {
    try {
      return await (this.#deps.readTlsFiles ?? this.#readFiles)();
    } catch (err) {
      return { fault: faultOf(err), why: errorText(err) };
    }
  }

  readonly #readFiles = (): Promise<TlsFiles> => {
    const { dir } = this.#options;
    return typeof dir === "string" ? readTlsFiles(dir) : readTlsPaths(dir);
  };

  #judge(read: Read, text: string, now: number): void {
    const isNew = text !== this.#seen?.text;
    this.#seen = { text, refused: false };
    if (text === this.#inUse) return;
    try {
      if ("fault" in read) throw new DomainError("invalid", read.why, { fields: { reason: read.fault } });
      const tls = checkTls(read, this.#options.side, now, this.#options.trust);
      if (this.#current !== undefined) checkListNumbers(tls, this.#current, read.names?.crl);
      this.#options.check?.(tls);
      this.#deps.onLoaded?.(tls);
      this.#current = tls;
      this.#inUse = text;
      this.#first.resolve(tls);
      const fields = { serial: tls.leaf.serialNumber, not_after: new Date(tls.notAfter).toISOString() };
      this.#deps.logger.info(fields, "certificate in use");
    } catch (err) {
      this.#seen = { text, refused: true };
      if (!isNew) return;
      const next = this.#current ? "the previous one stays in use" : "there is none yet";
      this.#deps.logger.warn(
        { dir: nameOf(this.#options.dir), err: errorText(err), next },
        "the certificate files were refused",
      );
      this.#deps.onRefused?.(faultOf(err));
    }
  }

  #tellOfEnd(now: number): void {
    const tls = this.#current;
    const usable = tls === undefined || tls.notAfter > now;
    if (usable === this.#usable) return;
    this.#usable = usable;
    if (!usable)
      this.#deps.logger.error({ dir: nameOf(this.#options.dir) }, "the certificate has expired: no caller trusts it");
    this.#deps.onUsable?.(usable);
  }
}

function foldersOf(dir: string | TlsPaths): readonly string[] {
  if (typeof dir === "string") return [dir];
  return [...new Set([dir.cert, dir.key, dir.ca, ...dir.crl].map((path) => dirname(path)))];
}

function nameOf(dir: string | TlsPaths): string {
  return typeof dir === "string" ? dir : dir.cert;
}

function faultOf(err: unknown): TlsFault {
  const reason = err instanceof DomainError ? err.fields["reason"] : undefined;
  return typeof reason === "string" ? (reason as TlsFault) : "unusable";
}
