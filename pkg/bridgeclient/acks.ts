import type { Clock } from "../../internal/base/clock.ts";

/** The last event that a reader has handled in a log. */
interface Position {
  readonly epoch: string;
  readonly seq: bigint;
}

export interface AcksDeps {
  readonly clock: Clock;
  /** Stores the position at the bridge. If this fails, the only harm is that events arrive twice. */
  readonly send: (position: Position, signal: AbortSignal) => Promise<unknown>;
}

/** The position is sent at once after this many events, */
const BATCH = 100;
/** or this long after the first event of the batch. */
const WAIT_MS = 250;
const LAST_MS = 2000;

/** Sends a reader's position to the bridge, in batches, while the reader continues. */
export class Acks {
  readonly #deps: AcksDeps;
  #pending: Position | undefined;
  #count = 0;
  #sending: Promise<void> | undefined;
  #hurry = new AbortController();
  readonly #end = new AbortController();
  #ending = false;

  constructor(deps: AcksDeps) {
    this.#deps = deps;
  }

  /** Records that the reader has handled this event and all events before it. */
  handled({ epoch, seq }: Position): void {
    if (seq === 0n) return; // made by this client, not by the bridge
    this.#pending = { epoch, seq };
    this.#count++;
    if (this.#count >= BATCH) this.#hurry.abort();
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined;
    });
  }

  /** Sends the last position and waits up to 2 s for it. Do not call `handled` after this. */
  async flush(): Promise<void> {
    this.#ending = true;
    this.#hurry.abort();
    if (this.#sending === undefined) return;
    const done = new AbortController();
    const late = this.#deps.clock.sleep(LAST_MS, done.signal).then(() => this.#end.abort());
    await this.#sending;
    done.abort();
    await late.catch(() => {});
  }

  async #send(): Promise<void> {
    while (this.#pending !== undefined) {
      await this.#deps.clock.sleep(WAIT_MS, this.#hurry.signal).catch(() => {});
      const position = this.#pending;
      this.#pending = undefined;
      this.#count = 0;
      if (!this.#end.signal.aborted) await this.#deps.send(position, this.#end.signal).catch(() => {});
      if (!this.#ending) this.#hurry = new AbortController();
    }
  }
}
