import { type LaneName, laneKey } from "./subjects.ts";

/** A published update of a lane, or a prompt to its agent. */
export interface RingEntry {
  /** Empty for a prompt; `seq` is 0 then. */
  readonly epoch: string;
  readonly seq: number;
  /** A JSON object, as text. */
  readonly body: string;
}

/** The position of an update in its lane. */
export interface ProgressPlace {
  readonly epoch: string;
  readonly seq: number;
}

/** Updates of `epoch` from `first` to `to` that are not kept; `to` 0: their number is unknown. */
export interface ReplayGap {
  readonly epoch: string;
  readonly first: number;
  readonly to: number;
}

export interface Replay {
  readonly bodies: readonly string[];
  readonly prompts: number;
  readonly gap: ReplayGap | undefined;
}

interface Ring {
  readonly entries: RingEntry[];
  bytes: number;
  lastPrompt: string | undefined;
  /** The newest update that was dropped. */
  lost: ProgressPlace | undefined;
}

/** The most bytes of one lane, so that a replay fits into one message. */
const LANE_BYTES = 512 * 1024;
const LANE_ENTRIES = 4096;
const ALL_BYTES = 64 * 1024 * 1024;

/** The latest updates of lanes that this relay holds or held, for editors that load their sessions. Bounded. */
export class ProgressRings {
  /** Ordered by the last write, the latest last. */
  readonly #rings = new Map<string, Ring>();
  readonly #allBytes: number;
  #bytes = 0;

  /** @param allBytes the most bytes of all lanes together */
  constructor(allBytes = ALL_BYTES) {
    this.#allBytes = allBytes;
  }

  add(lane: LaneName, entry: RingEntry): void {
    const key = laneKey(lane);
    const ring = this.#rings.get(key) ?? { entries: [], bytes: 0, lastPrompt: undefined, lost: undefined };
    this.#rings.delete(key);
    this.#rings.set(key, ring);
    ring.entries.push(entry);
    this.#grow(ring, entry.body.length);
    while (ring.bytes > LANE_BYTES || ring.entries.length > LANE_ENTRIES) {
      const { epoch, seq, body } = ring.entries.shift() as RingEntry;
      this.#grow(ring, -body.length);
      if (epoch !== "") ring.lost = { epoch, seq };
    }
    this.#bound(key);
  }

  /** Adds a prompt, unless it is the lane's latest prompt already. */
  prompted(lane: LaneName, id: string, body: string): void {
    if (this.#rings.get(laneKey(lane))?.lastPrompt === id) return;
    this.add(lane, { epoch: "", seq: 0, body });
    const ring = this.#rings.get(laneKey(lane));
    if (ring !== undefined) ring.lastPrompt = id;
  }

  /** The kept entries of a lane, only those after `after` if it is given. Undefined: nothing is kept. */
  read(lane: LaneName, after: ProgressPlace | undefined): Replay | undefined {
    const ring = this.#rings.get(laneKey(lane));
    if (ring === undefined) return undefined;
    const { entries, lost } = ring;
    const at = after === undefined ? -1 : entries.findLastIndex((each) => isUpTo(each, after));
    const prompts = entries.filter(({ epoch }) => epoch === "").length;
    return {
      bodies: entries.slice(at + 1).map(({ body }) => body),
      prompts,
      gap: at >= 0 ? undefined : gapOf(lost, after),
    };
  }

  #grow(ring: Ring, bytes: number): void {
    ring.bytes += bytes;
    this.#bytes += bytes;
  }

  #bound(newest: string): void {
    for (const [key, { bytes }] of this.#rings) {
      if (this.#bytes <= this.#allBytes || key === newest) return;
      this.#rings.delete(key);
      this.#bytes -= bytes;
    }
  }
}

function isUpTo({ epoch, seq }: RingEntry, after: ProgressPlace): boolean {
  return epoch === after.epoch && seq <= after.seq;
}

/** The updates that a replay after `after` lacks. Undefined: none. */
function gapOf(lost: ProgressPlace | undefined, after: ProgressPlace | undefined): ReplayGap | undefined {
  if (lost === undefined) return after && { epoch: after.epoch, first: after.seq + 1, to: 0 };
  const first = after?.epoch === lost.epoch ? after.seq + 1 : 1;
  return first > lost.seq ? undefined : { epoch: lost.epoch, first, to: lost.seq };
}
