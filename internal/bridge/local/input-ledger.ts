import { DomainError } from "../../base/errors.ts";
import { idToForget, wasTyped } from "../../session/kept-ids.ts";
import { hashOf } from "../../session/nudge-record.ts";
import type { NudgeOutcome } from "../../session/types.ts";

/** An input that was accepted for an agent, by its key. */
export interface LedgerEntry {
  readonly requestId: string;
  readonly owner: string;
  /** Monotonic, ms. */
  readonly acceptedAt: number;
  /** Sequence number of its INPUT_RECEIVED event. */
  readonly seq: bigint;
  /** `queued` or final; absent: the agent has not answered yet. */
  outcome?: NudgeOutcome;
  error: string;
  /** Resolves when there is an outcome, and is then deleted to save memory, since entries are kept for long. */
  answered?: PromiseWithResolvers<void>;
}

const KEEP_MS = 24 * 3_600_000;
const MAX_ENTRIES = 10_000;
const MAX_OF_ONE = 8000;
/** Inputs without a final outcome. */
const MAX_OPEN = 50;

/**
 * The inputs of one session, so that none is delivered twice: kept for 24 h after acceptance, at most 10,000 in all and
 * 8,000 of one caller.
 */
export class InputLedger {
  /** The oldest first. */
  readonly #entries = new Map<string, LedgerEntry & { readonly hash: string }>();

  /**
   * The input with this key; undefined: there is none.
   * @param now monotonic, ms
   * @throws DomainError `already-exists` if the key belongs to another text
   */
  find(requestId: string, text: string, now: number): LedgerEntry | undefined {
    this.#expire(now);
    const entry = this.#entries.get(requestId);
    if (entry === undefined || entry.hash === hashOf(text)) return entry;
    throw new DomainError("already-exists", `idempotency_key ${JSON.stringify(requestId)} belongs to another text`);
  }

  /**
   * Drops an entry if there is no room for another input of this owner. @throws DomainError `exhausted` if too many
   * inputs are waiting for the agent, or if no entry can be dropped
   */
  makeRoom(owner: string): void {
    const open = [...this.open()].length;
    if (open >= MAX_OPEN) {
      const fields = { limit: MAX_OPEN };
      throw new DomainError("exhausted", `${open} inputs are waiting for the agent: no more are accepted`, { fields });
    }
    const all = [...this.#entries.values()];
    const isOverShare = all.filter((entry) => entry.owner === owner).length >= MAX_OF_ONE;
    if (!isOverShare && all.length < MAX_ENTRIES) return;
    const gone = idToForget(all, keptIdOf, owner, isOverShare);
    if (gone === undefined) {
      const fields = { limit: MAX_ENTRIES };
      throw new DomainError("exhausted", "too many idempotency keys are kept for this session", { fields });
    }
    this.#entries.delete(gone.requestId);
  }

  add(input: Pick<LedgerEntry, "requestId" | "owner" | "acceptedAt" | "seq">, text: string): LedgerEntry {
    const entry = { ...input, error: "", hash: hashOf(text), answered: Promise.withResolvers<void>() };
    this.#entries.set(input.requestId, entry);
    return entry;
  }

  get(requestId: string): LedgerEntry | undefined {
    return this.#entries.get(requestId);
  }

  /** Inputs without a final outcome. */
  *open(): Generator<LedgerEntry> {
    for (const entry of this.#entries.values()) if (isOpen(entry)) yield entry;
  }

  #expire(now: number): void {
    for (const entry of this.#entries.values()) {
      if (isOpen(entry) || now - entry.acceptedAt < KEEP_MS) return;
      this.#entries.delete(entry.requestId);
    }
  }
}

function isOpen({ outcome }: LedgerEntry): boolean {
  return outcome === undefined || outcome === "queued";
}

function keptIdOf(entry: LedgerEntry) {
  if (entry.outcome === undefined || isOpen(entry)) return undefined;
  return { owner: entry.owner, wasTyped: wasTyped(entry.outcome) };
}
