import { wasTyped } from "./kept-ids.ts";
import { type AcceptedNudge, endOf, type NudgeEnd, type NudgeRecord, withoutText } from "./nudge-record.ts";
import type { NudgeReceipt } from "./types.ts";

interface Folded {
  readonly nudge: AcceptedNudge;
  readonly intent: boolean;
  readonly ended?: NudgeEnd | undefined;
}

/** More nudges than can be queued or under way at a time. */
const MAX_OPEN = 128;
/** Twice the number of ended nudges that are kept. */
const MAX_ENDED = 20_000;
/** Texts of ended nudges that may still be in the composer. */
const MAX_TEXTS = 64;

/**
 * Folds the journal's records of nudges, while they are read, into as few with the same meaning: an ended nudge keeps
 * its receipt, and its text only if that may still be in the composer. Holds at most 128 open nudges and drops the
 * oldest beyond that. Holds at most 20,000 ended ones and drops first the oldest that were never typed, then the oldest
 * of all.
 */
export class NudgeFold {
  readonly #open = new Map<string, Folded>();
  readonly #ended = new Map<string, Folded>();
  /** The ended nudges that were never typed: a retry types nothing twice. */
  readonly #untyped = new Set<string>();
  readonly #texts: string[] = [];
  #forgotten = 0;

  /** The number of open nudges that were dropped because there were too many. */
  get forgotten(): number {
    return this.#forgotten;
  }

  take(record: NudgeRecord): void {
    if (record.type === "accepted") this.#accept(record.nudge);
    else if (record.type === "ended") this.#end(endOf(record));
    else {
      const known = this.#open.get(record.requestId);
      if (known !== undefined) this.#open.set(record.requestId, { ...known, intent: record.type === "intent" });
    }
  }

  /**
   * Call it after a record was lost. It may have been the intent or the end of any nudge that is open now, so each of
   * them may be in front of the agent: none is typed a second time.
   */
  damaged(): void {
    for (const [id, entry] of this.#open) this.#open.set(id, { ...entry, intent: true });
  }

  records(): readonly NudgeRecord[] {
    return [...this.#ended.values(), ...this.#open.values()].flatMap(({ nudge, intent, ended }): NudgeRecord[] => [
      { type: "accepted", nudge },
      ...(intent ? [{ type: "intent" as const, requestId: nudge.requestId }] : []),
      ...(ended === undefined ? [] : [{ type: "ended" as const, ...ended }]),
    ]);
  }

  #accept(nudge: AcceptedNudge): void {
    if (this.#ended.has(nudge.requestId)) return; // the first end of an id counts
    this.#open.set(nudge.requestId, { nudge, intent: false });
    if (this.#open.size > MAX_OPEN && dropOldest(this.#open)) this.#forgotten++;
  }

  #end(ended: NudgeEnd): void {
    const { receipt, at } = ended;
    const id = receipt.requestId;
    const known = this.#open.get(id) ?? this.#ended.get(id);
    this.#open.delete(id);
    const mayStand = receipt.outcome === "stranded" || receipt.outcome === "unknown";
    const nudge = known?.nudge ?? lostNudge(receipt, at);
    this.#ended.set(id, {
      nudge: mayStand ? nudge : withoutText(nudge),
      intent: known?.intent ?? false,
      ended,
    });
    if (mayStand) this.#keepText(id);
    this.#untyped.delete(id);
    if (!wasTyped(receipt.outcome)) this.#untyped.add(id);
    if (this.#ended.size > MAX_ENDED) this.#dropEnded();
  }

  #dropEnded(): void {
    const [untyped] = this.#untyped;
    if (untyped === undefined) return void dropOldest(this.#ended);
    this.#untyped.delete(untyped);
    this.#ended.delete(untyped);
  }

  #keepText(id: string): void {
    this.#texts.push(id);
    const oldest = this.#texts.length > MAX_TEXTS ? this.#texts.shift() : undefined;
    const entry = oldest === undefined ? undefined : this.#ended.get(oldest);
    if (oldest !== undefined && entry !== undefined) {
      this.#ended.set(oldest, { ...entry, nudge: withoutText(entry.nudge) });
    }
  }
}

/** Stands for the nudge of an end whose other records are lost: the id stays taken, and no message matches it. */
function lostNudge({ requestId, sender }: NudgeReceipt, at: number): AcceptedNudge {
  const nothing = { messageHash: "", message: "", text: "", mode: "wait-idle", priority: "normal" } as const;
  return { requestId, sender, ...nothing, acceptedAt: at, expiresAt: at };
}

function dropOldest(entries: Map<string, Folded>): boolean {
  const oldest = entries.keys().next();
  return oldest.done !== true && entries.delete(oldest.value);
}
