import { GapReason } from "../../../internal/gen/gastown/v1/common_pb.ts";
import { type SidecarOutputUpdate, UpdateKind } from "../../../internal/gen/gastown/v1/sidecar_pb.ts";
import { contentAt, positionOf } from "./content.ts";

/** Enough bytes to identify their position. */
const TELLING_BYTES = 64;

/**
 * Compares one watcher's RAW stream with the printed output. A byte that is neither delivered in order nor covered by a
 * gap is a fault, and so is a byte that comes twice or differs.
 */
export class CheckedStream {
  readonly faults: string[] = [];
  readonly gaps: Record<string, number> = {};
  /** The number of correctly delivered bytes. */
  checked = 0;
  snapshots = 0;
  epoch = "";
  /** Offset of the next byte; undefined before the first update. */
  due: bigint | undefined;
  /** Position minus offset: constant as long as no bytes without offsets were lost. */
  #shift: number | undefined;
  /** The shift is unknown: no bytes have been identified yet, or a gap of unknown length was reported since. */
  #mayJump = true;
  #untold: Buffer = Buffer.alloc(0);
  /** No position below this may come again. */
  #reached = 0;

  /** The position up to which everything was delivered or covered by a gap; undefined while it is unknown. */
  get position(): number | undefined {
    return this.#shift === undefined || this.due === undefined ? undefined : Number(this.due) + this.#shift;
  }

  take(update: SidecarOutputUpdate): void {
    if (this.epoch !== "" && update.epoch !== this.epoch) this.#fault(`another epoch: ${update.epoch}`);
    this.epoch = update.epoch;
    if (update.kind === UpdateKind.SNAPSHOT) {
      this.#snapshot(update);
      return;
    }
    if (update.offset !== this.due) this.#fault(`offset ${update.offset} where ${this.due} was due`);
    this.due = update.offset + BigInt(update.data.length);
    if (update.data.length > 0) this.#check(Buffer.from(update.data), Number(update.offset));
  }

  #snapshot({ offset, gap }: SidecarOutputUpdate): void {
    this.snapshots++;
    if (gap !== undefined) {
      const name = reasonName(gap.reason);
      this.gaps[name] = (this.gaps[name] ?? 0) + 1;
      if (gap.first !== this.due || gap.to !== offset) {
        this.#fault(`a gap ${gap.first}-${gap.to} where ${this.due} was due and ${offset} comes`);
      }
      if (gap.reason === GapReason.RESTART) this.#mayJump = true;
    } else if (this.due !== undefined && this.due !== offset) this.#fault(`${this.due} to ${offset} is missing`);
    this.#untold = Buffer.alloc(0);
    this.due = offset;
  }

  #check(data: Buffer, offset: number): void {
    let [bytes, from] = [data, offset];
    if (this.#mayJump) {
      bytes = Buffer.concat([this.#untold, data]);
      from = offset - this.#untold.length;
      const position = bytes.length < TELLING_BYTES ? undefined : positionOf(bytes);
      if (position === undefined) {
        this.#untold = bytes;
        if (bytes.length >= TELLING_BYTES) this.#fault("bytes that were never printed");
        return;
      }
      this.#untold = Buffer.alloc(0);
      this.#mayJump = false;
      this.#shift = position - from;
    }
    const position = from + (this.#shift ?? 0);
    if (position < this.#reached) this.#fault(`position ${position} again, after ${this.#reached}`);
    if (!bytes.equals(contentAt(position, bytes.length))) this.#fault(`other bytes than were printed at ${position}`);
    this.#reached = position + bytes.length;
    this.checked += bytes.length;
  }

  #fault(text: string): void {
    if (this.faults.length < 20) this.faults.push(text);
  }
}

export function reasonName(reason: GapReason): string {
  return Object.entries(GapReason).find(([, value]) => value === reason)?.[0] ?? String(reason);
}
