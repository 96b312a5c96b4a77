import { DomainError } from "../../base/errors.ts";
import type { Gap, WatchRequest, WatchUpdate } from "../../session/types.ts";
import { NO_BYTES } from "../../session/watch-interval.ts";
import { updateFacts, type WatchDeps } from "./watch-facts.ts";

/** How often a watcher of a silent agent gets a heartbeat. */
export const HEARTBEAT_MS = 15_000;
/** The most bytes one RAW update carries. */
const RAW_CHUNK_BYTES = 64 * 1024;

/**
 * One RAW watcher's place in the stream. Determines the watcher's next update, each time from the bytes held. It never
 * waits and holds no bytes, so a watcher that does not read costs nothing here.
 */
export class RawCursor {
  readonly #deps: WatchDeps;
  /** The offset at which the watcher resumed: bytes missing from there on were lost before it resumed. */
  readonly #resumed: bigint | undefined;
  #offset: bigint | undefined;
  #gap: Gap | undefined;
  #sentAt: number;
  #isFirst = true;
  /** The last offset at which the watcher was sent the whole screen. */
  #shownAt: bigint | undefined;

  /** @throws DomainError `precondition` for an offset that is yet to come */
  constructor(deps: WatchDeps, request: WatchRequest) {
    this.#deps = deps;
    this.#offset = this.#resumed = resumeAt(deps, request);
    if (this.#offset === undefined) this.#gap = missed(deps, request);
    this.#sentAt = deps.clock.monotonicMs();
  }

  /** The next byte wanted; undefined before the first snapshot, and when the next update is not a plain CHANGE. */
  get plainOffset(): bigint | undefined {
    return this.#offset === undefined || this.#turning(this.#offset)?.offset === this.#offset
      ? undefined
      : this.#offset;
  }

  /**
   * Notes that the watcher was sent a CHANGE with the bytes up to `offset`, made for another cursor at the same place.
   */
  passTo(offset: bigint): void {
    this.#offset = offset;
    this.#isFirst = false;
    this.#sentAt = this.#deps.clock.monotonicMs();
  }

  /** The next update to send; undefined if there is none. After an `end` there are no more. */
  next(): WatchUpdate | undefined {
    const update = this.#decide();
    if (update === undefined) return undefined;
    this.#isFirst = false;
    this.#sentAt = this.#deps.clock.monotonicMs();
    return update;
  }

  #decide(): WatchUpdate | undefined {
    const { output } = this.#deps;
    const offset = this.#offset;
    const turning = offset === undefined ? undefined : this.#turning(offset);
    if (offset !== undefined && turning?.offset === offset) {
      this.#shownAt = offset;
      return this.#update("snapshot", Buffer.from(turning.redraw), offset);
    }
    const room = offset === undefined || turning === undefined ? RAW_CHUNK_BYTES : Number(turning.offset - offset);
    const data = offset === undefined ? undefined : output.ring.read(offset, Math.min(room, RAW_CHUNK_BYTES));
    if (offset === undefined || data === undefined) return this.#snapshot();
    if (data.length > 0) {
      this.#offset = offset + BigInt(data.length);
      return this.#update("change", data, offset);
    }
    const endReason = this.#deps.ended();
    if (endReason !== undefined) return { ...this.#update("end", NO_BYTES, offset), endReason };
    const isSilent = this.#deps.clock.monotonicMs() - this.#sentAt >= HEARTBEAT_MS;
    return this.#isFirst || isSilent ? this.#update("heartbeat", NO_BYTES, offset) : undefined;
  }

  /**
   * A snapshot of the current screen. Undefined if the screen is not ahead of the sent bytes, or if the bytes after it
   * are no longer held.
   */
  #snapshot(): WatchUpdate | undefined {
    const { output } = this.#deps;
    const first = this.#offset;
    const offset = output.drawnTo;
    if (!output.ring.holds(offset) || (first !== undefined && offset <= first)) return undefined;
    const gap = first === undefined ? this.#gap : { first, to: offset, reason: this.#reason(first) };
    this.#gap = undefined;
    this.#offset = this.#shownAt = offset;
    const update = this.#update("snapshot", Buffer.from(output.emulator.redraw()), offset);
    return gap === undefined ? update : { ...update, gap };
  }

  #update(kind: WatchUpdate["kind"], data: Uint8Array, offset: bigint): WatchUpdate {
    return { ...updateFacts(this.#deps), kind, output: "", data, offset };
  }

  /** The next place at which the screen changed although no byte was printed, unless that screen was already sent. */
  #turning(offset: bigint) {
    return this.#deps.output.turningFrom(offset === this.#shownAt ? offset + 1n : offset);
  }

  #reason(first: bigint): Gap["reason"] {
    const { lastGap, drawnTo } = this.#deps.output;
    const late = first === this.#resumed ? "evicted" : "slow-reader";
    return lastGap !== undefined && first <= lastGap.first && lastGap.to <= drawnTo ? "restart" : late;
  }
}

/** The offset at which a watcher that reconnects continues; undefined if it starts again with a snapshot. */
function resumeAt({ output }: WatchDeps, request: WatchRequest): bigint | undefined {
  const { afterOffset } = request;
  if (afterOffset === undefined || request.epoch !== output.epoch) return undefined;
  const head = output.ring.end;
  if (afterOffset <= head) return afterOffset;
  const fields = { epoch: output.epoch, head: head.toString() };
  throw new DomainError("precondition", `cannot resume at offset ${afterOffset}: the stream ends at ${head}`, {
    fields,
  });
}

/** The gap of a watcher that asks to continue in another epoch: the missed bytes have no offsets here. */
function missed({ output }: WatchDeps, request: WatchRequest): Gap | undefined {
  if (request.afterOffset === undefined) return undefined;
  return { first: request.afterOffset, to: output.drawnTo, reason: "restart" };
}
