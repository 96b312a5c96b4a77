import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { Bus } from "./bus.ts";
import { publishStored, type StoredMessage } from "./publish.ts";

export interface OutboxDeps {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Messages that wait in memory for the stream, within a bound. A full outbox refuses messages that nothing waits for,
 * such as events. It always accepts answers, which their turns keep in memory anyway; they count towards the bound, and
 * while it is reached, agents are not read (see `isFull`).
 */
export class Outbox {
  /** Notified when `isFull` changes, and when the outbox becomes empty. */
  readonly changes = new SignalBus();
  readonly #deps: OutboxDeps;
  readonly #maxBytes: number;
  readonly #queue: StoredMessage[] = [];
  readonly #added = new SignalBus();
  readonly #emptied = new SignalBus();
  #bytes = 0;
  #isFull = false;

  constructor(deps: OutboxDeps, maxBytes: number) {
    this.#deps = deps;
    this.#maxBytes = maxBytes;
  }

  get messages(): number {
    return this.#queue.length;
  }

  /** The bytes of queued messages and held answers. */
  get bytes(): number {
    return this.#bytes;
  }

  /** True from when the bound is reached until half of it is free. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Queues a message. False: there is no room for it. */
  offer(message: StoredMessage): boolean {
    const size = sizeOf(message);
    if (this.#isFull || this.#bytes + size > this.#maxBytes) return false;
    this.#queue.push(message);
    this.#count(size);
    this.#added.notify();
    return true;
  }

  /** Counts an answer until the returned function is called. */
  hold(bytes: number): () => void {
    let held = bytes;
    this.#count(held);
    return () => {
      this.#count(-held);
      held = 0;
    };
  }

  /** Publishes the queued messages in order until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const [message] = this.#queue;
      try {
        if (message === undefined) {
          await this.#added.next(signal);
          continue;
        }
        await publishStored(this.#deps, message, signal);
      } catch (err) {
        if (signal.aborted) return;
        this.#deps.logger.error({ action: "publish_refused", subject: message?.subject, err }, "a message was refused");
      }
      if (message !== undefined) this.#taken(message);
    }
  }

  #taken(message: StoredMessage): void {
    this.#queue.shift();
    this.#count(-sizeOf(message));
    if (this.#queue.length === 0) this.#emptied.notify();
  }

  /** Resolves when every queued message is stored, or was refused. */
  async flushed(signal: AbortSignal): Promise<void> {
    while (this.#queue.length > 0) await this.#emptied.next(signal);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    const isFull = this.#isFull ? this.#bytes > this.#maxBytes / 2 : this.#bytes >= this.#maxBytes;
    const isChanged = isFull !== this.#isFull;
    this.#isFull = isFull;
    if (isChanged) this.#tell();
    if (isChanged || this.#bytes === 0) this.changes.notify();
  }

  #tell(): void {
    if (this.#isFull)
      this.#deps.logger.warn({ action: "outbox_full", bytes: this.#bytes }, "reading from agents is paused");
    else this.#deps.logger.info({ action: "outbox_free", bytes: this.#bytes }, "reading from agents is resumed");
  }
}

function sizeOf({ subject, body }: StoredMessage): number {
  return subject.length + (typeof body === "string" ? Buffer.byteLength(body) : body.length);
}
