import type { Bus } from "./bus.ts";
import type { Outbox } from "./outbox.ts";
import { publishPlain } from "./publish.ts";

/** The most bytes that the server has not confirmed. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Publishes messages that may be lost, in order and within a bound. Never waits for a server that is away or hangs. */
export class LossyPublisher {
  readonly #bus: Bus;
  readonly #outbox: Pick<Outbox, "isFull">;
  readonly #maxBytes: number;
  #unconfirmed = 0;
  #isConfirming = false;

  constructor(bus: Bus, outbox: Pick<Outbox, "isFull">, maxBytes = MAX_BYTES) {
    this.#bus = bus;
    this.#outbox = outbox;
    this.#maxBytes = maxBytes;
  }

  /** Publishes a message. False: it was dropped. */
  publish(subject: string, body: string): boolean {
    const bus = this.#bus;
    const bytes = Buffer.byteLength(body);
    if (!bus.isConnected || this.#outbox.isFull || bytes > bus.maxPayload) return false;
    if (this.#unconfirmed + bytes > this.#maxBytes) return false;
    publishPlain(bus, { subject, body });
    this.#unconfirmed += bytes;
    if (!this.#isConfirming) void this.#confirm();
    return true;
  }

  async #confirm(): Promise<void> {
    this.#isConfirming = true;
    while (this.#unconfirmed > 0) {
      const bytes = this.#unconfirmed;
      // A rejection means that the connection is lost, and the unconfirmed messages with it.
      await this.#bus.nc.flush().catch(() => {});
      this.#unconfirmed -= bytes;
    }
    this.#isConfirming = false;
  }
}
