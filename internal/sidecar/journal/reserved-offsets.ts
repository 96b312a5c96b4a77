import { randomUUID } from "node:crypto";
import type { AgentJournal } from "./agent-journal.ts";
import type { Restored, SidecarRecord } from "./journal-records.ts";

/** Offsets are reserved in steps of this many bytes, so that the journal is written once a step. */
const STEP_BYTES = 64n * 1024n * 1024n;

/**
 * The output offsets that this process may hand out. The journal records them, so that no later process hands them out.
 */
export class ReservedOffsets {
  readonly epoch: string;
  /** The first one of this process. */
  readonly startOffset: bigint;
  readonly #journal: AgentJournal;
  #reservedTo: bigint;

  private constructor(journal: AgentJournal, epoch: string, startOffset: bigint) {
    this.#journal = journal;
    this.epoch = epoch;
    this.startOffset = startOffset;
    this.#reservedTo = startOffset + STEP_BYTES;
  }

  /** Reserves the first step. If the journal cannot be written, the epoch is one that no later process continues. */
  static after({ stream }: Restored, journal: AgentJournal): ReservedOffsets {
    const { epoch = randomUUID(), reservedTo = "0" } = stream ?? {};
    const offsets = new ReservedOffsets(journal, epoch, BigInt(reservedTo));
    if (journal.tryKeep(offsets.record)) return offsets;
    return new ReservedOffsets(journal, randomUUID(), offsets.startOffset);
  }

  /** The record that a later process needs. */
  get record(): SidecarRecord {
    return { type: "stream", epoch: this.epoch, reservedTo: this.#reservedTo.toString() };
  }

  /** Reserves another step when the output's end comes close to the end of what is reserved. */
  extend(end: bigint): void {
    if (end + STEP_BYTES / 2n < this.#reservedTo) return;
    this.#reservedTo = end + STEP_BYTES;
    this.#journal.tryKeep(this.record);
  }
}
