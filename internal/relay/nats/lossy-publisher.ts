import type { Bus } from "./bus.ts";
import type { Outbox } from "./outbox.ts";
import { publishPlain } from "./publish.ts";

/** The limit of bytes that the server has not confirmed. */
const MAX_BYTES = 8 * 1024 * 1024;

interface LateMessage {
  readonly body: string;
  readonly bytes: number;
}

/**
 * Publishes messages that may be lost, in order and within a bound. Never waits for a server that is away or hangs. Of
 * the messages of a subject that find no room, keeps the newest and publishes it once there is room: its number shows
 * which messages are missing.
 */
export class LossyPublisher {
  readonly #bus: Bus;
  readonly #outbox: Pick<Outbox, "isFull">;
  readonly #maxBytes: number;
  /** The newest message of each subject that found no room. Their total size has the same limit. */
  readonly #late = new Map<string, LateMessage>();
  #lateBytes = 0;
  #unconfirmed = 0;
  #isConfirming = false;

  constructor(bus: Bus, outbox: Pick<Outbox, "isFull">, maxBytes = MAX_BYTES) {
    this.#bus = bus;
    this.#outbox = outbox;
    this.#maxBytes = maxBytes;
  }

  /** Publishes a message. False: it was dropped, or waits for room, where a newer message may replace it. */
  publish(subject: string, body: string): boolean {
    const bus = this.#bus;
    const bytes = Buffer.byteLength(body);
    if (!bus.isConnected || this.#outbox.isFull || bytes > bus.maxPayload) return false;
    if (!this.#late.has(subject) && this.#send(subject, { body, bytes })) return true;
    this.#replace(subject, { body, bytes });
    return false;
  }

  #send(subject: string, { body, bytes }: LateMessage): boolean {
    if (this.#unconfirmed + bytes > this.#maxBytes) return false;
    publishPlain(this.#bus, { subject, body });
    this.#unconfirmed += bytes;
    if (!this.#isConfirming) void this.#confirm();
    return true;
  }

  /** Undefined: forgets the subject's late message. */
  #replace(subject: string, late: LateMessage | undefined): void {
    this.#lateBytes += (late?.bytes ?? 0) - (this.#late.get(subject)?.bytes ?? 0);
    if (late === undefined) this.#late.delete(subject);
    else this.#late.set(subject, late);
    if (this.#lateBytes > this.#maxBytes) this.#replace(subject, undefined);
  }

  #sendLate(): void {
    const mayPublish = this.#bus.isConnected && !this.#outbox.isFull;
    for (const [subject, late] of this.#late) {
      if (mayPublish && !this.#send(subject, late)) return;
      this.#replace(subject, undefined);
    }
  }

  async #confirm(): Promise<void> {
    this.#isConfirming = true;
    while (this.#unconfirmed > 0) {
      const bytes = this.#unconfirmed;
      // A rejection means that the connection is lost, and the unconfirmed messages with it.
      await this.#bus.nc.flush().catch(() => {});
      this.#unconfirmed -= bytes;
      this.#sendLate();
    }
    this.#isConfirming = false;
  }
}
