/**
 * Bytes that are kept from one chunk to the next, in memory that doubles when it is full, so that copying takes linear
 * time however many chunks come.
 */
export class ByteHold {
  #memory = Buffer.alloc(0);
  #length = 0;

  /** The held bytes followed by `chunk`. Valid until the next `keep`. */
  with(chunk: Uint8Array): Buffer {
    if (this.#length === 0) return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const needed = this.#length + chunk.length;
    if (needed > this.#memory.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#memory.length * 2));
      this.#memory.copy(larger, 0, 0, this.#length);
      this.#memory = larger;
    }
    this.#memory.set(chunk, this.#length);
    this.#length = needed;
    return this.#memory.subarray(0, needed);
  }

  /** Holds `data` (the result of `with`) from `from` on; releases a large memory once nothing is held. */
  keep(data: Buffer, from: number): void {
    const length = data.length - from;
    if (length > 0 && this.#length > 0) this.#memory.copyWithin(0, from, data.length);
    else if (length > 0) this.#memory = Buffer.from(data.subarray(from));
    else if (this.#memory.length > 1 << 18) this.#memory = Buffer.alloc(0);
    this.#length = length;
  }
}
