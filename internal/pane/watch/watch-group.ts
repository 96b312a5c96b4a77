/** A member that is served in its group's rhythm. */
export interface Member {
  /** Sends what is due. */
  pump(): void;
  /** Makes `pump` send nothing more. */
  leave(): void;
}

interface Entry {
  readonly member: Member;
  readonly fail: (err: unknown) => void;
}

/** Members that are served together: one wait for all of them. Lives from the first to the last member. */
export class WatchGroup {
  readonly #untilNext: (signal: AbortSignal) => Promise<void>;
  readonly #onEmpty: () => void;
  readonly #entries = new Set<Entry>();
  readonly #stop = new AbortController();

  /**
   * `untilNext` resolves each time something may be due. `onEmpty` is called when the last member has left: the next
   * one needs another group.
   */
  constructor(untilNext: (signal: AbortSignal) => Promise<void>, onEmpty: () => void) {
    this.#untilNext = untilNext;
    this.#onEmpty = onEmpty;
  }

  /** Serves a member until it calls its `end`; rejects when `signal` aborts or `untilNext` fails. */
  async join(make: (end: () => void) => Member, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const entry: Entry = { member: make(resolve), fail: reject };
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    this.#entries.add(entry);
    if (this.#entries.size === 1) void this.#loop();
    try {
      entry.member.pump();
      await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
      entry.member.leave();
      this.#entries.delete(entry);
      if (this.#entries.size === 0) {
        this.#onEmpty();
        this.#stop.abort(EMPTY);
      }
    }
  }

  async #loop(): Promise<void> {
    try {
      for (;;) {
        await this.#untilNext(this.#stop.signal);
        for (const { member } of this.#entries) member.pump();
      }
    } catch (err) {
      for (const { fail } of this.#entries) fail(err);
    }
  }
}

const EMPTY = new Error("the last watcher has left");
