import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { Bus } from "./bus.ts";
import { publishStored, type StoredMessage } from "./publish.ts";

export interface OutboxDeps {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A message found no room. */
  readonly onOverflow: (subject: string) => void;
}

/**
 * Messages that no one waits for, such as events: held in memory, within a bound, until the stream has each. While
 * NATS is away they wait; what finds no room is dropped and named. Answers never go this way.
 */
export class Outbox {
  readonly #deps: OutboxDeps;
  readonly #maxBytes: number;
  readonly #queue: StoredMessage[] = [];
  readonly #added = new SignalBus();
  #bytes = 0;

  constructor(deps: OutboxDeps, maxBytes: number) {
    this.#deps = deps;
    this.#maxBytes = maxBytes;
  }

  get messages(): number {
    return this.#queue.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  offer(message: StoredMessage): void {
    const size = sizeOf(message);
    if (this.#bytes + size > this.#maxBytes) {
      this.#deps.onOverflow(message.subject);
      return;
    }
    this.#queue.push(message);
    this.#bytes += size;
    this.#added.notify();
  }

  /** Publishes in order until the signal. */
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
    this.#bytes -= sizeOf(message);
    if (this.#queue.length === 0) this.#added.notify();
  }

  /** Resolves when everything is stored. */
  async flushed(signal: AbortSignal): Promise<void> {
    while (this.#queue.length > 0) await this.#added.next(signal);
  }
}

function sizeOf({ subject, body }: StoredMessage): number {
  return subject.length + (typeof body === "string" ? Buffer.byteLength(body) : body.length);
}
