import { DomainError } from "../../base/errors.ts";

/** Flags, and the length of what follows. */
const PREFIX_BYTES = 5;

/** One message of a stream as it goes over the line, or its end with what the protocol says there. */
export interface Envelope {
  readonly flags: number;
  readonly payload: Buffer;
}

/** Parts a stream of bytes into envelopes, whichever way it is cut. */
export class Envelopes {
  readonly #maxBytes: number;
  #held: Buffer[] = [];
  #heldBytes = 0;

  /** `maxBytes`: of one payload. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** True while an envelope has begun and is not whole. */
  get isOpen(): boolean {
    return this.#heldBytes > 0;
  }

  /**
   * Those that are whole now, each made when it is asked for; the payloads are the caller's. The next chunk may come
   * after the last. @throws DomainError `exhausted` for one that is too large
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

  /** How many bytes the next envelope takes, as far as that is known. */
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

/** A payload with its prefix, uncompressed. */
export function enveloped(payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(PREFIX_BYTES + payload.length);
  bytes.writeUInt8(0, 0);
  bytes.writeUInt32BE(payload.length, 1);
  bytes.set(payload, PREFIX_BYTES);
  return bytes;
}
