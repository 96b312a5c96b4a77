import { createHash, randomUUID } from "node:crypto";
import { link, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import { isMissing } from "../files/named-file.ts";
import { openPrivateFolder } from "../files/private-folder.ts";
import type { Processes } from "../process/process-alive.ts";

export interface LockDeps {
  readonly clock: Clock;
  readonly processes: Processes;
  readonly pid: number;
  readonly uid: number;
}

/** The lock while it is ours; disposing releases it. */
export interface HeldLock extends AsyncDisposable {
  /** Wall clock, ms: when someone last typed into the session under this lock. */
  readonly lastTypedAt: number | undefined;
  /** Records for later holders that something was typed. */
  typed(at: number): Promise<void>;
}

interface Holder {
  readonly token: string;
  readonly pid: number;
  readonly identity: string | undefined;
}

const POLL_MS = 25;
/** A guard file that is still empty after this long was left by a process that ended right after creating it. */
const HALF_WRITTEN_MS = 5000;

/**
 * One lock for each tmux session of this machine, taken by every program that types into it, so that two messages never
 * mix. The lock is a file that names its holder; it is free once that process has ended.
 */
export class SessionLock {
  readonly #folder: string;
  readonly #name: string;
  readonly #deps: LockDeps;

  /** `session` is any text that names the session: socket path and session name. */
  constructor(folder: string, session: string, deps: LockDeps) {
    this.#folder = folder;
    this.#name = createHash("sha256").update(session).digest("hex").slice(0, 32);
    this.#deps = deps;
  }

  /**
   * Waits for the lock; disposing the result releases it.
   * @throws DomainError `deadline` when others hold it for `waitMs`; `denied` when the folder cannot be trusted.
   */
  async take(waitMs: number, signal: AbortSignal): Promise<HeldLock> {
    const { clock, uid, pid, processes } = this.#deps;
    await openPrivateFolder(this.#folder, uid);
    const mine: Holder = { token: randomUUID(), pid, identity: processes.identity(pid) };
    const end = clock.monotonicMs() + waitMs;
    for (;;) {
      if (await this.#create(mine)) return await this.#held(mine);
      const holder = await this.#read();
      if (holder !== undefined && !this.#lives(holder)) {
        await this.#evict(holder);
        continue;
      }
      const left = end - clock.monotonicMs();
      if (left <= 0) throw this.#tooLong(waitMs, holder);
      await clock.sleep(Math.min(POLL_MS, left), signal);
    }
  }

  /**
   * True while someone types under this lock, or has done so since `since` (wall clock, ms). Does not take the lock.
   */
  async isUsed(since: number): Promise<boolean> {
    const holder = await this.#read();
    if (holder !== undefined && this.#lives(holder)) return true;
    const typedAt = await this.#lastTypedAt();
    return typedAt !== undefined && typedAt >= since;
  }

  async #held(mine: Holder): Promise<HeldLock> {
    return {
      lastTypedAt: await this.#lastTypedAt(),
      typed: (at) => writeFile(this.#stamp, String(at), { mode: 0o600 }),
      [Symbol.asyncDispose]: () => this.#giveBack(mine),
    };
  }

  async #lastTypedAt(): Promise<number | undefined> {
    const at = Number(await readFile(this.#stamp, "utf8").catch(() => ""));
    return at > 0 ? at : undefined;
  }

  get #stamp(): string {
    return join(this.#folder, `${this.#name}.typed`);
  }

  get #file(): string {
    return join(this.#folder, `${this.#name}.lock`);
  }

  /** Creates the lock as a hard link to a finished file, so that no process reads it half-written. False: it exists. */
  async #create(holder: Holder): Promise<boolean> {
    const part = join(this.#folder, `.${this.#name}.${holder.token}.tmp`);
    await writeFile(part, JSON.stringify(holder), { mode: 0o600, flag: "wx" });
    try {
      await link(part, this.#file);
      return true;
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code === "EEXIST") return false;
      throw err;
    } finally {
      await rm(part, { force: true });
    }
  }

  async #read(): Promise<Holder | undefined> {
    try {
      const value = JSON.parse(await readFile(this.#file, "utf8")) as Partial<Holder>;
      const { token, pid, identity } = value;
      if (typeof token !== "string" || typeof pid !== "number") return { token: "", pid: 0, identity: undefined };
      return { token, pid, identity };
    } catch (err) {
      if (isMissing(err)) return undefined;
      return { token: "", pid: 0, identity: undefined }; // not a lock of ours, so no one holds it
    }
  }

  #lives(holder: Holder): boolean {
    const { processes } = this.#deps;
    if (holder.pid < 1 || !processes.exists(holder.pid)) return false;
    const now = processes.identity(holder.pid);
    return holder.identity === undefined || now === undefined || now === holder.identity;
  }

  /**
   * Two processes that find the same dead holder must not remove the new lock of a third: the guard file lets one at a
   * time remove it.
   */
  async #evict(dead: Holder): Promise<void> {
    const guard = `${this.#file}.evict`;
    try {
      await writeFile(guard, String(this.#deps.pid), { mode: 0o600, flag: "wx" });
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== "EEXIST") throw err;
      await this.#removeDeadGuard(guard);
      await this.#deps.clock.sleep(POLL_MS);
      return;
    }
    try {
      if ((await this.#read())?.token === dead.token) await rm(this.#file, { force: true });
    } finally {
      await rm(guard, { force: true });
    }
  }

  async #removeDeadGuard(guard: string): Promise<void> {
    const text = await readFile(guard, "utf8").catch(() => undefined);
    const { processes, clock } = this.#deps;
    if (text === undefined) return;
    const age = clock.now() - ((await stat(guard).catch(() => undefined))?.mtimeMs ?? clock.now());
    const dead = text === "" ? age > HALF_WRITTEN_MS : !processes.exists(Number(text));
    if (dead) await rm(guard, { force: true });
  }

  async #giveBack(mine: Holder): Promise<void> {
    if ((await this.#read())?.token === mine.token) await rm(this.#file, { force: true });
  }

  #tooLong(waitMs: number, holder: Holder | undefined): DomainError {
    const who = holder === undefined ? "" : ` (now process ${holder.pid})`;
    return new DomainError("deadline", `other processes typed into this session for ${waitMs} ms${who}`, {
      fields: { hint: "try again, or give a longer --timeout" },
    });
  }
}
