import { DomainError } from "../../base/errors.ts";

/** Flags and payload length. */
const PREFIX_BYTES = 5;

/** One encoded message of a stream, or the end of the stream with its metadata. */
export interface Envelope {
  readonly flags: number;
  readonly payload: Buffer;
}

/** Splits a stream of bytes into envelopes, however the stream is divided into chunks. */
export class Envelopes {
  readonly #maxBytes: number;
  #held: Buffer[] = [];
  #heldBytes = 0;

  /** `maxBytes`: the largest payload. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** True if an envelope has arrived in part. */
  get isOpen(): boolean {
    return this.#heldBytes > 0;
  }

  /**
   * Yields the envelopes that are complete after this chunk; the caller owns the payloads. Read all before the next
   * call.
   * @throws DomainError `exhausted` for a payload that is too large
   */
  *push(chunk: Buffer): Generator<Envelope, void> {
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes < this.#wanted()) return;
    let rest = this.#held.length === 1 ? chunk : Buffer.concat(this.#held);
    while (rest.length >= PREFIX_BYTES) {
      const end = PREFIX_BYTES + this.#lengthIn(rest);
      if (rest.length < end) break;
      const whole = { flags: rest.readUInt8(0), payload: rest.subarray(PREFIX_BYTES, end) };
      rest = rest.subarray(end);
      yield whole;
    }
    this.#held = rest.length === 0 ? [] : [rest];
    this.#heldBytes = rest.length;
  }

  /** The size of the next envelope if its prefix has arrived in the first chunk; otherwise the size of the prefix. */
  #wanted(): number {
    const [first] = this.#held;
    return first === undefined || first.length < PREFIX_BYTES ? PREFIX_BYTES : PREFIX_BYTES + this.#lengthIn(first);
  }

  #lengthIn(bytes: Buffer): number {
    const length = bytes.readUInt32BE(1);
    if (length <= this.#maxBytes) return length;
    throw new DomainError("exhausted", `a message of ${length} bytes is larger than ${this.#maxBytes}`);
  }
}

/** Adds a prefix to a payload, uncompressed. */
export function enveloped(payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(PREFIX_BYTES + payload.length);
  bytes.writeUInt8(0, 0);
  bytes.writeUInt32BE(payload.length, 1);
  bytes.set(payload, PREFIX_BYTES);
  return bytes;
}
