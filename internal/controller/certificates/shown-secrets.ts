import type { Clock } from "../../base/clock.ts";
import type { ObservedSecret } from "./certificate-policies.ts";
import type { SeenVersion } from "./secret-store.ts";

/**
 * Returns the version of a Secret that a watch shows now: a new object after each change. Undefined: the watch does not
 * show the Secret, or there is no watch.
 */
export type ShownVersionOf = (namespace: string, name: string) => SeenVersion | undefined;

interface Look<T> {
  readonly found: T;
  /** Monotonic, ms. */
  readonly until: number;
}

/** A watch may fail unnoticed, so a Secret is read again after this time in any case. */
const TRUSTED_MS = 60_000;

/**
 * Caches results of reading Secrets while the watch shows them unchanged, for up to a minute: a starting pod changes
 * half a dozen times, and its Secret need not be read each time.
 */
export class ShownSecrets<T> {
  readonly #clock: Clock;
  readonly #shown: ShownVersionOf;
  readonly #looks = new WeakMap<SeenVersion, Look<T>>();

  constructor(clock: Clock, shown: ShownVersionOf = () => undefined) {
    this.#clock = clock;
    this.#shown = shown;
  }

  /** The cached result; undefined: read the Secret. */
  found(namespace: string, name: string): T | undefined {
    const shown = this.#shown(namespace, name);
    const look = shown && this.#looks.get(shown);
    return look !== undefined && this.#clock.monotonicMs() < look.until ? look.found : undefined;
  }

  /** Caches a result, if the watch shows the version of the Secret that was read. */
  keep(namespace: string, { name, uid, resourceVersion }: ObservedSecret, found: T): void {
    const shown = this.#shown(namespace, name);
    if (shown?.uid !== uid || shown.resourceVersion !== resourceVersion) return;
    this.#looks.set(shown, { found, until: this.#clock.monotonicMs() + TRUSTED_MS });
  }
}
