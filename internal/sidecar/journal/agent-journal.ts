import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { Journal } from "../../eventlog/journal.ts";
import type { EventRecord } from "../../session/event-records.ts";
import { type NudgeRecord, type RestoredNudge, recordsOf } from "../../session/nudge-record.ts";
import type { LifeRecord } from "../lifecycle/agent-lifecycle.ts";
import type { Restored, SidecarRecord } from "./journal-records.ts";

export interface AgentJournalDeps {
  readonly logger: Logger;
  readonly journal: Journal<SidecarRecord>;
}

/** The parts of the agent whose state a later process needs. */
export interface RecordedParts {
  readonly offsets: { readonly record: SidecarRecord };
  readonly lifecycle: { readonly life: LifeRecord };
  /** Aborted once the agent must end permanently. */
  readonly stopAsked: AbortSignal;
  readonly events: { records(): readonly EventRecord[] };
  readonly lines: { readonly standing: EventRecord };
  readonly mailbox: { snapshot(): readonly RestoredNudge[] };
}

/** The journal is shortened at this size, and later at twice the size that was left, if that is more. */
const MAX_BYTES = 32 * 1024 * 1024;

/**
 * The state that a later serving half of this agent needs, on disk before anything is reported to a caller. The parts
 * of the agent append their own records; this class writes the record of the agent's life, and all records when the
 * journal has grown long or was removed. `journal-records` reads them.
 */
export class AgentJournal {
  readonly #deps: AgentJournalDeps;
  readonly #parts: () => RecordedParts;
  #shortenAt = MAX_BYTES;

  /** `parts`: not called while `tryKeep` or `keep` runs, so that the parts may be made with this journal. */
  constructor(deps: AgentJournalDeps, parts: () => RecordedParts) {
    this.#deps = deps;
    this.#parts = parts;
  }

  /** Returns false if the record could not be written, which was logged. */
  tryKeep(record: SidecarRecord): boolean {
    const { journal, logger } = this.#deps;
    try {
      journal.append(record);
      // Deferred: the state that this record reports may not be in place yet.
      if (this.#isDue) queueMicrotask(() => this.#isDue && this.rewrite());
      return true;
    } catch (err) {
      logger.error({ err, record: record.type }, "the journal cannot be written");
      return false;
    }
  }

  /**
   * Records a step of a nudge. No nudge is accepted or typed unless that has been recorded. The record of its end may
   * be missing: a later process then finds an intent without an end, and judges it. @throws DomainError `exhausted`
   */
  keep(record: NudgeRecord): void {
    if (!this.tryKeep(record) && (record.type === "accepted" || record.type === "intent")) {
      throw new DomainError("exhausted", "cannot accept a message: the journal cannot be written");
    }
  }

  /** Call it when the agent's life or whether it must end (`stopping`) has changed. */
  keepAgent(stopping = this.#parts().stopAsked.aborted): void {
    this.tryKeep(this.#agentRecord(stopping));
  }

  /** Leaves a journal with everything needed after a crash, whatever happened to the file. */
  rewrite(): void {
    const { lines, stopAsked } = this.#parts();
    this.#rewrite([...this.#records(lines.standing), this.#agentRecord(stopAsked.aborted)]);
  }

  /** Like `rewrite`, before anything is known of the agent's present life. */
  rewriteRestored({ events, agent }: Restored): void {
    const standing = { type: "standing" as const, ...events.standing };
    this.#rewrite([...this.#records(standing), ...(agent === undefined ? [] : [agent])]);
  }

  #records(standing: EventRecord): readonly SidecarRecord[] {
    const { offsets, events, mailbox } = this.#parts();
    return [offsets.record, ...events.records(), standing, ...recordsOf(mailbox.snapshot())];
  }

  #agentRecord(stopping: boolean): SidecarRecord {
    return { type: "agent", ...this.#parts().lifecycle.life, stopping };
  }

  #rewrite(records: readonly SidecarRecord[]): void {
    const { journal, logger } = this.#deps;
    try {
      if (!journal.isInPlace) logger.error("the journal was removed: creating it again");
      journal.rewrite(records);
      this.#shortenAt = Math.max(MAX_BYTES, 2 * journal.bytes);
    } catch (err) {
      logger.error({ err }, "the journal cannot be compacted"); // the old journal has the same content
    }
  }

  /** True if the journal has grown long, or was removed. */
  get #isDue(): boolean {
    const { journal } = this.#deps;
    return journal.bytes > this.#shortenAt || !journal.isInPlace;
  }
}
