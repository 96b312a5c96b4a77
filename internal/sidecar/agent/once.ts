import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { hashOf } from "../../session/nudge-record.ts";
import { REQUEST_ID } from "../../session/nudge-request.ts";

/** Results are kept this long after the call, and at most this many. */
export const ONCE_KEEP_MS = 3_600_000;
export const ONCE_KEEP = 1000;

interface Entry<T> {
  /** Of the content, which may have 64 KiB. */
  readonly hash: string;
  readonly at: number;
  readonly result: Promise<T>;
}

/**
 * Calls with a request id are done once: the same id with the same content gets the first call's result, also while that
 * is still under way. What failed before anything was pressed is forgotten, so that the same id may try again. Kept in
 * memory only.
 */
export class Once<T> {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry<T>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * `work` calls its argument right before it presses anything. An empty id is never remembered.
   * @throws DomainError `invalid`: bad id; `already-exists`: the id belongs to other content; what `work` throws.
   */
  run(id: string, content: string, work: (onPress: () => void) => Promise<T>): Promise<T> {
    if (id === "") return work(() => {});
    if (!REQUEST_ID.test(id)) throw new DomainError("invalid", "a request id is 1 to 128 of A-Z a-z 0-9 . _ -");
    this.#forget();
    const hash = hashOf(content);
    const known = this.#entries.get(id);
    if (known !== undefined) {
      if (known.hash === hash) return known.result;
      throw new DomainError("already-exists", `request id ${JSON.stringify(id)} belongs to another request`);
    }
    let pressed = false;
    const result = work(() => {
      pressed = true;
    });
    const entry = { hash, at: this.#clock.monotonicMs(), result };
    this.#entries.set(id, entry);
    result.catch(() => {
      if (!pressed && this.#entries.get(id) === entry) this.#entries.delete(id);
    });
    return result;
  }

  /** The oldest stand first. */
  #forget(): void {
    const now = this.#clock.monotonicMs();
    for (const [id, { at }] of this.#entries) {
      if (this.#entries.size < ONCE_KEEP && now - at < ONCE_KEEP_MS) break;
      this.#entries.delete(id);
    }
  }
}
