import { withTimeout } from "../../base/abort.ts";
import { errorText } from "../../base/errors.ts";
import { MAX_CONVERSATION_BYTES } from "../acp/conversation.ts";
import type { Dialect } from "../acp/dialect.ts";
import { writeJson } from "../acp/json-text.ts";
import { ANSWER_TOO_LARGE, type ResultPart } from "../acp/result-parts.ts";
import { continuesConversation } from "../acp/user-message.ts";
import type { WorkMessage } from "../acp/work-message.ts";
import type { WorkItem } from "../nats/work-item.ts";
import { AnswerPublisher } from "./answer-publisher.ts";
import type { Claim } from "./lane-claim.ts";
import type { LaneDeps } from "./lane-deps.ts";
import type { Answered, LaneRecord } from "./lane-records.ts";
import { afterRecord, type LaneState, snapshotOf } from "./lane-state.ts";
import type { LaneLink, LinkAnswer } from "./link.ts";

/** The number of records between two snapshots. */
const SNAPSHOT_EVERY = 128;
const RELEASE_MS = 5000;
/** Room in a record or result for everything but the answer's parts: ids, names and headers. */
const ENVELOPE_BYTES = 8 * 1024;

/** The agent that answers, as results name it. */
export interface Answerer {
  readonly agentId: string;
  readonly dialect: Dialect;
  /** Absent: the relay itself answers. */
  readonly kind?: LaneLink["kind"];
}

/** The answer to a piece of work, and facts for its records and results. */
export interface Ending {
  readonly work: WorkMessage;
  readonly answer: LinkAnswer;
  readonly attempt: number;
  readonly traceparent: string | undefined;
}

/**
 * Writes the log of a held lane. Each step of a turn is recorded first and then carried out, so a holder that has lost
 * the lane fails at its next record and has changed nothing.
 */
export class LaneJournal {
  readonly #deps: LaneDeps;
  readonly #claim: Claim;
  readonly #answerer: Answerer;
  readonly #publisher: AnswerPublisher;
  #state: LaneState;
  #writing: Promise<void> = Promise.resolve();

  constructor(deps: LaneDeps, claim: Claim, answerer: Answerer) {
    this.#deps = deps;
    this.#claim = claim;
    this.#answerer = answerer;
    this.#state = claim.state;
    this.#publisher = new AnswerPublisher(deps, claim.lane, claim.resultsAfter);
  }

  get state(): LaneState {
    return this.#state;
  }

  /**
   * Appends the record that `make` returns for the state at that point of the log; undefined: a record is no longer
   * needed. Appends one record at a time, in the order of the calls: concurrent appends would fence each other.
   * @throws Fenced
   */
  append(make: (state: LaneState) => LaneRecord | undefined, signal: AbortSignal): Promise<void> {
    const appended = this.#writing.then(async () => {
      const record = make(this.#state);
      if (record === undefined) return;
      await this.#claim.log.append(record, signal);
      this.#state = afterRecord(this.#state, record);
    });
    this.#writing = appended.catch(() => {});
    return appended;
  }

  /** Publishes an answer that an earlier holder has left, and keeps the log within its bound. */
  async begin(signal: AbortSignal): Promise<void> {
    await this.finish(true, signal);
    await this.#snapshot(signal);
  }

  /**
   * Records the answer, publishes it, and records that the work is done. Returns the last part that was published. The
   * caller still has to acknowledge the work.
   */
  async settle(ending: Ending, signal: AbortSignal): Promise<ResultPart | undefined> {
    const { metrics, reached, outbox } = this.#deps;
    const { record, bytes } = this.#recordOf(ending);
    const release = outbox.hold(bytes);
    try {
      await this.append(() => record, signal);
      reached("answered");
      await this.finish(false, signal);
    } finally {
      release();
    }
    metrics.turns.inc({ link: this.#answerer.kind ?? "none", outcome: outcomeOf(record.parts) });
    if (ending.answer.exchange !== undefined && record.exchange === undefined) this.#truncated(1);
    await this.#snapshot(signal);
    return record.parts.at(-1);
  }

  /**
   * The record of an answer, within the server's limit: omits the exchange first, then replaces the answer with a
   * failure.
   */
  #recordOf({ work, answer, attempt, traceparent }: Ending): { readonly record: Answered; readonly bytes: number } {
    const { parts, exchange } = answer;
    const { agentId: agent_id, dialect } = this.#answerer;
    const names = { t: "answered", id: work.id, hash: work.hash, attempt, agent_id, dialect, traceparent } as const;
    const common = { ...names, results_after: this.#publisher.last, fresh: !continuesConversation(work) };
    const room = this.#deps.bus.maxPayload - ENVELOPE_BYTES;
    const bytes = Buffer.byteLength(writeJson(parts));
    const kept = exchange === undefined ? 0 : Buffer.byteLength(writeJson(exchange));
    if (bytes > room) return { record: { ...common, parts: [ANSWER_TOO_LARGE] }, bytes: ENVELOPE_BYTES };
    const isKept = exchange !== undefined && kept <= MAX_CONVERSATION_BYTES && bytes + kept <= room;
    return { record: { ...common, parts, exchange: isKept ? exchange : undefined }, bytes: bytes + ENVELOPE_BYTES };
  }

  /**
   * Publishes the answer in the log, if there is one, and records that its work is done.
   * @param looksFirst another holder may have published some parts
   */
  async finish(looksFirst: boolean, signal: AbortSignal): Promise<void> {
    const { answered, exchanges } = this.#state;
    if (answered === undefined) return;
    await this.#publisher.publish(answered, looksFirst, signal);
    this.#logSent(answered);
    await this.append(() => ({ t: "done", id: answered.id, hash: answered.hash }), signal);
    this.#deps.reached("done");
    const expected = (answered.fresh ? 0 : exchanges.length) + (answered.exchange ? 1 : 0);
    if (this.#state.exchanges.length < expected) this.#truncated(expected - this.#state.exchanges.length);
  }

  /** Acknowledges work. A failure is harmless: the work is delivered again and found to be done. */
  async acknowledge(item: WorkItem): Promise<void> {
    const { logger, reached } = this.#deps;
    try {
      await item.ack();
      reached("acked");
    } catch (err) {
      logger.warn({ action: "ack_failed", work_seq: item.seq, err: errorText(err) }, "the server does not answer");
    }
  }

  /** Gives the lane up, unless it is already lost. Never fails. */
  async release(): Promise<void> {
    const { clock, bus } = this.#deps;
    const { log, consumer, generation } = this.#claim;
    if (log.isFenced || !bus.isConnected) return;
    const left = new AbortController();
    try {
      const record = { t: "released", generation } as const;
      const released = this.append(() => record, left.signal).then(() => consumer.delete());
      released.catch(() => {});
      await withTimeout(clock, RELEASE_MS, "releasing the lane", released);
    } catch {
      // The next claimant asks this relay, which answers that it does not hold the lane.
    } finally {
      left.abort(new Error("given up"));
    }
  }

  async #snapshot(signal: AbortSignal): Promise<void> {
    const room = this.#deps.bus.maxPayload - ENVELOPE_BYTES;
    await this.append((state) => (state.records >= SNAPSHOT_EVERY ? snapshotOf(state, room) : undefined), signal);
  }

  #logSent({ id, parts, attempt }: Answered): void {
    const { logger, metrics } = this.#deps;
    const { lane } = this.#claim;
    metrics.messages.inc({ direction: "out", dialect: "nats", kind: "result" }, parts.length);
    logger.info(
      {
        ...{ action: "message_sent", direction: "result", session_id: lane.sessionId, role: lane.role },
        ...{ agent_id: this.#answerer.agentId, id, parts: parts.length, outcome: outcomeOf(parts), attempt },
      },
      "results are published",
    );
  }

  #truncated(exchanges: number): void {
    const { sessionId, role } = this.#claim.lane;
    this.#deps.events.publish(sessionId, "transcript.truncated", { role, exchanges });
  }
}

function outcomeOf(parts: readonly ResultPart[]): string {
  return parts.at(-1)?.type ?? "none";
}
