import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { Journal } from "../../eventlog/journal.ts";
import type { NudgeRecord } from "../../session/nudge-record.ts";
import type { SidecarRecord } from "./journal-records.ts";

export interface AgentJournalDeps {
  readonly logger: Logger;
  readonly journal: Journal<SidecarRecord>;
}

/** It is shortened when it has this many bytes, and later when it has twice as many as were left. */
const MAX_BYTES = 32 * 1024 * 1024;

/** The state that a later process of this agent needs, on disk before anything is reported to a caller. */
export class AgentJournal {
  /** Notified when the journal has grown long or was removed: its owner must rewrite it. */
  readonly rewriteDue = new SignalBus();
  readonly #deps: AgentJournalDeps;
  #shortenAt = MAX_BYTES;

  constructor(deps: AgentJournalDeps) {
    this.#deps = deps;
  }

  /** Returns false if the record could not be written, which was logged. */
  tryKeep(record: SidecarRecord): boolean {
    const { journal, logger } = this.#deps;
    try {
      journal.append(record);
      // Deferred: the state that this record reports may not be in place yet.
      if (this.#isDue) queueMicrotask(() => this.#isDue && this.rewriteDue.notify());
      return true;
    } catch (err) {
      logger.error({ err, record: record.type }, "the journal cannot be written");
      return false;
    }
  }

  /**
   * Nothing is accepted or typed that the journal does not hold. How it ended may be missing there: a later process
   * then finds an intent without an end, and judges it. @throws DomainError `exhausted`
   */
  keep(record: NudgeRecord): void {
    if (!this.tryKeep(record) && (record.type === "accepted" || record.type === "intent")) {
      throw new DomainError("exhausted", "cannot accept a message: the journal cannot be written");
    }
  }

  /** Leaves a journal of these records only, whatever happened to the file. */
  rewrite(records: readonly SidecarRecord[]): void {
    const { journal, logger } = this.#deps;
    try {
      if (!journal.isInPlace) logger.error("the journal was removed: creating it again");
      journal.rewrite(records);
      this.#shortenAt = Math.max(MAX_BYTES, 2 * journal.bytes);
    } catch (err) {
      logger.error({ err }, "the journal cannot be compacted"); // the old one holds the same
    }
  }

  /** It has grown long, or was removed. */
  get #isDue(): boolean {
    const { journal } = this.#deps;
    return journal.bytes > this.#shortenAt || !journal.isInPlace;
  }
}
