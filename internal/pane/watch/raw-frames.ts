import type { WatchUpdate } from "../../session/types.ts";
import type { RawCursor } from "./raw-cursor.ts";
import type { Made } from "./watch-sink.ts";

/** Updates are kept for cursors that come to the same place a moment later. */
const CACHE_BYTES = 1024 * 1024;

interface Change<F> extends Made<F> {
  /** Offset after its last byte. */
  readonly to: bigint;
  readonly bytes: number;
}

/** RAW updates of one stream, each made once for all cursors: cursors at the same place get the same bytes. */
export class RawFrames<F> {
  readonly #encode: (update: WatchUpdate) => F;
  readonly #changes = new Map<bigint, Change<F>>();
  #bytes = 0;

  constructor(encode: (update: WatchUpdate) => F) {
    this.#encode = encode;
  }

  /** The next update for `cursor`, which moves on; undefined if there is none. */
  next(cursor: RawCursor): Made<F> | undefined {
    const at = cursor.plainOffset;
    const made = at === undefined ? undefined : this.#changes.get(at);
    if (made !== undefined) {
      cursor.passTo(made.to);
      return made;
    }
    const update = cursor.next();
    if (update === undefined) return undefined;
    const frame = this.#encode(update);
    if (update.kind !== "change") return { frame, isEnd: update.kind === "end" };
    const bytes = update.data.length;
    return this.#keep(update.offset, { frame, isEnd: false, to: update.offset + BigInt(bytes), bytes });
  }

  #keep(offset: bigint, change: Change<F>): Change<F> {
    this.#changes.set(offset, change);
    this.#bytes += change.bytes;
    for (const [oldest, { bytes }] of this.#changes) {
      if (this.#bytes <= CACHE_BYTES) break;
      this.#changes.delete(oldest);
      this.#bytes -= bytes;
    }
    return change;
  }
}
