import type { NudgeOutcome } from "./types.ts";

/** An id that is remembered after its message has ended. */
export interface KeptId {
  /** The owner of the message; empty: callers could not be distinguished. */
  readonly owner: string;
  /**
   * Part of the message may have reached the agent: if the id were forgotten too early, a retry would type it a second
   * time.
   */
  readonly wasTyped: boolean;
}

export interface IdLimits {
  readonly total: number;
  /** Per owner, where owners can be distinguished. */
  readonly ofOne: number;
}

const TYPED: ReadonlySet<NudgeOutcome> = new Set(["submitted", "stranded", "unknown"]);

export function wasTyped(outcome: NudgeOutcome): boolean {
  return TYPED.has(outcome);
}

/**
 * Selects the id to forget for a new one of `owner`: first an id of `owner` that was never typed; then, unless `owner`
 * is over its share, another owner's that was never typed; then one of `owner` that was typed. Another owner's typed id
 * is never selected; undefined: there is no room.
 *
 * @param entries oldest first
 * @param about undefined for a message that has not ended
 */
export function idToForget<T>(
  entries: Iterable<T>,
  about: (entry: T) => KeptId | undefined,
  owner: string,
  isOverShare: boolean,
): T | undefined {
  let own: T | undefined;
  let others: T | undefined;
  for (const entry of entries) {
    const kept = about(entry);
    if (kept === undefined) continue;
    if (kept.owner === owner && !kept.wasTyped) return entry;
    if (kept.owner === owner) own ??= entry;
    else if (!kept.wasTyped) others ??= entry;
  }
  return isOverShare ? own : (others ?? own);
}

/**
 * The ids to forget if there are more than the limits allow, selected in the same order. @param entries oldest first
 */
export function idsOverLimits<T>(
  entries: readonly T[],
  about: (entry: T) => KeptId,
  { total, ofOne }: IdLimits,
): ReadonlySet<T> {
  const gone = new Set<T>();
  const byOwner = Map.groupBy(entries, (entry) => about(entry).owner);
  for (const [owner, own] of byOwner) {
    if (owner !== "") for (const entry of firstToGo(own, about, own.length - ofOne)) gone.add(entry);
  }
  const left = entries.filter((entry) => !gone.has(entry));
  for (const entry of firstToGo(left, about, left.length - total)) gone.add(entry);
  return gone;
}

function firstToGo<T>(entries: readonly T[], about: (entry: T) => KeptId, count: number): readonly T[] {
  if (count <= 0) return [];
  const { untyped = [], typed = [] } = Object.groupBy(entries, (entry) =>
    about(entry).wasTyped ? "typed" : "untyped",
  );
  return [...untyped, ...typed].slice(0, count);
}
