import { DomainError } from "../../base/errors.ts";
import { type IdLimits, idToForget, type KeptId, wasTyped } from "../../session/kept-ids.ts";
import { ownerOf } from "../../session/nudge-record.ts";
import { EndedTexts } from "./ended-texts.ts";
import type { TrackedNudge } from "./tracked-nudge.ts";

/**
 * Messages that wait; one more is refused.
 * @internal
 */
export const QUEUE_LIMIT = 50;
/** How many of these may belong to one caller, where callers can be distinguished. */
const QUEUE_SHARE = 40;
/** How long receipts are kept, and how many. */
export const RECEIPT_KEEP_MS = 24 * 3_600_000;
export const RECEIPT_KEEP: IdLimits = { total: 10_000, ofOne: 8000 };

/** The messages that are remembered, by request id, within the limits for all and for each owner. */
export class NudgeBook {
  /** In the order of acceptance. */
  readonly #nudges = new Map<string, TrackedNudge>();
  /** Those that have not ended. */
  readonly #open = new Set<TrackedNudge>();
  /** How many ids of each owner are remembered. */
  readonly #owned = new Map<string, number>();
  readonly #texts = new EndedTexts();

  /** `now`: as `TrackedNudge.endedMs`. */
  get(requestId: string, now: number): TrackedNudge | undefined {
    const tracked = this.#nudges.get(requestId);
    const endedMs = tracked?.endedMs;
    return endedMs !== undefined && now - endedMs >= RECEIPT_KEEP_MS ? undefined : tracked;
  }

  all(): Iterable<TrackedNudge> {
    return this.#nudges.values();
  }

  /** The nudges that have not ended. */
  open(): Iterable<TrackedNudge> {
    return this.#open;
  }

  /** Nudges that are not typed yet: urgent ones first, otherwise in the order of acceptance. */
  waiting(): TrackedNudge[] {
    const waiting = [...this.#open].filter((tracked) => tracked.phase === "waiting");
    const urgent = (tracked: TrackedNudge) => tracked.nudge.priority === "urgent";
    return [...waiting.filter(urgent), ...waiting.filter((tracked) => !urgent(tracked))];
  }

  add(tracked: TrackedNudge): void {
    const { nudge, phase } = tracked;
    this.#forget(nudge.requestId); // the id may be that of a message that is too old
    const owner = ownerOf(nudge);
    this.#nudges.set(nudge.requestId, tracked);
    this.#owned.set(owner, (this.#owned.get(owner) ?? 0) + 1);
    if (phase !== "ended") this.#open.add(tracked);
  }

  ended(tracked: TrackedNudge): void {
    this.#open.delete(tracked);
    this.#texts.ended(tracked);
  }

  /**
   * Makes room for one more message of `owner`: forgets ids that are too old, and one more if there are too many.
   * `now`: as `TrackedNudge.endedMs`.
   * @throws DomainError `exhausted` when the queue is full, or the owner's share of it, or no id may be forgotten
   */
  makeRoom(owner: string, now: number): void {
    this.#checkQueue(owner);
    for (const [id, { phase, endedMs }] of this.#nudges) {
      if (phase !== "ended") continue;
      if (now - (endedMs ?? now) < RECEIPT_KEEP_MS) break;
      this.#forget(id);
    }
    const isOverShare = owner !== "" && (this.#owned.get(owner) ?? 0) >= RECEIPT_KEEP.ofOne;
    if (!isOverShare && this.#nudges.size < RECEIPT_KEEP.total) return;
    const forgotten = idToForget(this.#nudges.values(), keptIdOf, owner, isOverShare);
    if (forgotten === undefined)
      throw new DomainError("exhausted", "too many request ids of other callers are remembered");
    this.#forget(forgotten.nudge.requestId);
  }

  #checkQueue(owner: string): void {
    const waiting = this.waiting();
    const full = (whose: string, limit: number) =>
      new DomainError("exhausted", `the queue already holds ${limit} messages${whose}`, { fields: { limit } });
    if (waiting.length >= QUEUE_LIMIT) throw full("", QUEUE_LIMIT);
    if (owner === "" || waiting.length < QUEUE_SHARE) return;
    const own = waiting.filter((tracked) => ownerOf(tracked.nudge) === owner);
    if (own.length >= QUEUE_SHARE) throw full(" of this caller", QUEUE_SHARE);
  }

  #forget(requestId: string): void {
    const tracked = this.#nudges.get(requestId);
    if (tracked === undefined) return;
    const owner = ownerOf(tracked.nudge);
    const left = (this.#owned.get(owner) ?? 0) - 1;
    if (left > 0) this.#owned.set(owner, left);
    else this.#owned.delete(owner);
    this.#nudges.delete(requestId);
    this.#texts.forgotten(tracked);
  }
}

function keptIdOf({ nudge, phase, receipt }: TrackedNudge): KeptId | undefined {
  if (phase !== "ended" || receipt === undefined) return undefined;
  return { owner: ownerOf(nudge), wasTyped: wasTyped(receipt.outcome) };
}
