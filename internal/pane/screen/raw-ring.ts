/** Chunks are joined up to this size, so that an agent that prints byte by byte does not cost one object per byte. */
const BLOCK_BYTES = 4096;

/**
 * The last bytes an agent printed, addressed by their offset in the stream, which may have holes. Bounded by bytes: the
 * oldest go first. Chunks are kept whole and must not be changed by the caller afterwards.
 */
export class RawRing {
  readonly #capacity: number;
  readonly #chunks: { readonly offset: bigint; readonly data: Uint8Array }[] = [];
  #size = 0;
  #end: bigint;
  /** The block that contains the last chunk and has room for more; undefined: nothing has been joined to that chunk. */
  #block: Uint8Array | undefined;

  /** `capacity` in bytes; `start` is the offset of the first byte to come. */
  constructor(capacity: number, start = 0n) {
    this.#capacity = capacity;
    this.#end = start;
  }

  /** Offset of the oldest byte held. */
  get start(): bigint {
    return this.#chunks[0]?.offset ?? this.#end;
  }

  /** Offset of the next byte to come. */
  get end(): bigint {
    return this.#end;
  }

  /** True if the bytes from `offset` on can be read, or if `offset` is the end. */
  holds(offset: bigint): boolean {
    return this.read(offset, 1) !== undefined;
  }

  push(data: Uint8Array): void {
    if (data.length === 0) return;
    const last = this.#chunks.at(-1);
    const isNext = last !== undefined && last.offset + BigInt(last.data.length) === this.#end;
    if (isNext && last.data.length + data.length <= BLOCK_BYTES) {
      this.#chunks[this.#chunks.length - 1] = { offset: last.offset, data: this.#joined(last.data, data) };
    } else {
      this.#chunks.push({ offset: this.#end, data });
      this.#block = undefined;
    }
    this.#end += BigInt(data.length);
    this.#size += data.length;
    while (this.#size > this.#capacity) {
      const oldest = this.#chunks.shift();
      if (oldest === undefined) break;
      this.#size -= oldest.data.length;
    }
  }

  /** Skips offsets that will never be delivered; earlier bytes stay. */
  skipTo(offset: bigint): void {
    if (offset > this.#end) this.#end = offset;
  }

  /**
   * Bytes from `offset` on, at most `limit` of them; empty at the end. Undefined when that offset is not held (evicted,
   * skipped, or not there yet).
   */
  read(offset: bigint, limit: number): Uint8Array | undefined {
    if (offset < this.start || offset > this.#end) return undefined;
    if (offset === this.#end) return new Uint8Array(0);
    const index = this.#indexOf(offset);
    const chunk = this.#chunks[index];
    if (chunk === undefined) return undefined;
    const from = Number(offset - chunk.offset);
    if (from >= chunk.data.length) return undefined;
    return chunk.data.subarray(from, from + limit);
  }

  /** Allocated outside Node's pool: a chunk would keep 8 KiB of the pool, most of them for earlier chunks. */
  #joined(last: Uint8Array, data: Uint8Array): Uint8Array {
    if (this.#block === undefined) {
      this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
      this.#block.set(last);
    }
    this.#block.set(data, last.length);
    return this.#block.subarray(0, last.length + data.length);
  }

  #indexOf(offset: bigint): number {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#chunks[middle]?.offset ?? 0n) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
