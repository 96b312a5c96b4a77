import type { Clock } from "../../base/clock.ts";
import type { ObservedSecret } from "./certificate-policies.ts";
import type { Seen } from "./secret-store.ts";

/** A Secret as a watch shows it now, another object after each change; undefined: it shows none, or none watches. */
export type ShownSecret = (namespace: string, name: string) => Seen | undefined;

interface Look<T> {
  readonly found: T;
  /** Monotonic, ms. */
  readonly until: number;
}

/** A watch may fail unseen, so that a Secret is read now and then whatever it shows. */
const TRUSTED_MS = 60_000;

/**
 * What was found in Secrets, for as long as the watch shows them unchanged, and for a minute at most: a pod that starts
 * changes half a dozen times, which is no reason to read its Secret as often.
 */
export class ShownSecrets<T> {
  readonly #clock: Clock;
  readonly #shown: ShownSecret;
  readonly #looks = new WeakMap<Seen, Look<T>>();

  constructor(clock: Clock, shown: ShownSecret = () => undefined) {
    this.#clock = clock;
    this.#shown = shown;
  }

  /** Undefined: the Secret is to be read. */
  found(namespace: string, name: string): T | undefined {
    const shown = this.#shown(namespace, name);
    const look = shown && this.#looks.get(shown);
    return look !== undefined && this.#clock.monotonicMs() < look.until ? look.found : undefined;
  }

  /** Keeps it, if the watch shows the Secret as it was read. */
  keep(namespace: string, { name, uid, resourceVersion }: ObservedSecret, found: T): void {
    const shown = this.#shown(namespace, name);
    if (shown?.uid !== uid || shown.resourceVersion !== resourceVersion) return;
    this.#looks.set(shown, { found, until: this.#clock.monotonicMs() + TRUSTED_MS });
  }
}
