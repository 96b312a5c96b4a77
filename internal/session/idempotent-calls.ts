import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import { ID } from "./ids.ts";
import { hashOf } from "./nudge-record.ts";

/**
 * Results are kept this long after the call.
 * @internal
 */
export const IDEMPOTENT_KEEP_MS = 3_600_000;
/**
 * The most results to keep of one caller; `IDEMPOTENT_KEEP_OF_ALL`: of all callers together.
 * @internal
 */
export const IDEMPOTENT_KEEP = 1000;
/** @internal */
export const IDEMPOTENT_KEEP_OF_ALL = 10_000;

interface Entry<T> {
  readonly caller: string;
  /** Identifies the content, which may have 64 KiB. */
  readonly hash: string;
  readonly at: number;
  readonly result: Promise<T>;
}

/**
 * Runs calls with a request id once: the same id with the same content gets the first call's result, even while that is
 * still under way. A call that fails before it presses anything is forgotten, so that the same id may be tried again.
 * Ids belong to their caller: no caller meets the ids of another, and a caller with many ids forgets its own oldest.
 * Kept in memory only.
 */
export class IdempotentCalls<T> {
  readonly #clock: Clock;
  /** By caller and id; oldest first. */
  readonly #entries = new Map<string, Entry<T>>();
  /** The keys of each caller, oldest first. */
  readonly #callers = new Map<string, Set<string>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * `caller` is an identity; empty where callers cannot be distinguished. `work` calls `onPress` right before it
   * presses anything. An empty id is never remembered.
   * @throws DomainError `invalid`: bad id; `already-exists`: the id belongs to other content; what `work` throws.
   */
  once(caller: string, id: string, content: string, work: (onPress: () => void) => Promise<T>): Promise<T> {
    if (id === "") return work(() => {});
    if (!ID.test(id)) throw new DomainError("invalid", "a request id is 1 to 128 of A-Z a-z 0-9 . _ -");
    this.#forgetOld();
    const hash = hashOf(content);
    const key = `${id}\n${caller}`;
    const known = this.#entries.get(key);
    if (known !== undefined) {
      if (known.hash === hash) return known.result;
      throw new DomainError("already-exists", `request id ${JSON.stringify(id)} belongs to another request`);
    }
    let pressed = false;
    const result = work(() => {
      pressed = true;
    });
    const entry = { caller, hash, at: this.#clock.monotonicMs(), result };
    this.#keep(key, entry);
    result.catch(() => {
      if (!pressed && this.#entries.get(key) === entry) this.#drop(key, caller);
    });
    return result;
  }

  #keep(key: string, entry: Entry<T>): void {
    const { caller } = entry;
    if ((this.#callers.get(caller)?.size ?? 0) >= IDEMPOTENT_KEEP) this.#dropOldest(caller);
    else if (this.#entries.size >= IDEMPOTENT_KEEP_OF_ALL) this.#dropOldest(this.#callerWithMost());
    this.#entries.set(key, entry);
    this.#callers.set(caller, (this.#callers.get(caller) ?? new Set()).add(key));
  }

  #forgetOld(): void {
    const before = this.#clock.monotonicMs() - IDEMPOTENT_KEEP_MS;
    for (const [key, { at, caller }] of this.#entries) {
      if (at > before) break;
      this.#drop(key, caller);
    }
  }

  #callerWithMost(): string {
    let most = { caller: "", size: 0 };
    for (const [caller, { size }] of this.#callers) if (size > most.size) most = { caller, size };
    return most.caller;
  }

  #dropOldest(caller: string): void {
    const [oldest] = this.#callers.get(caller) ?? [];
    if (oldest !== undefined) this.#drop(oldest, caller);
  }

  #drop(key: string, caller: string): void {
    this.#entries.delete(key);
    const own = this.#callers.get(caller);
    own?.delete(key);
    if (own?.size === 0) this.#callers.delete(caller);
  }
}
