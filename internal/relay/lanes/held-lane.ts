import { withTimeout } from "../../base/abort.ts";
import { errorText } from "../../base/errors.ts";
import { MAX_CONVERSATION_BYTES } from "../acp/conversation.ts";
import { writeJson } from "../acp/json-text.ts";
import { failure, type ResultPart } from "../acp/result-parts.ts";
import { continuesConversation } from "../acp/user-message.ts";
import { isRefusal, readWork, type WorkMessage } from "../acp/work-message.ts";
import type { WorkItem } from "../nats/work-item.ts";
import { AgentLost } from "./agent-lost.ts";
import { AnswerPublisher } from "./answer-publisher.ts";
import { rejectWork } from "./dead-letters.ts";
import type { Claim } from "./lane-claim.ts";
import type { LaneDeps, LaneOptions } from "./lane-deps.ts";
import type { Answered, LaneRecord } from "./lane-records.ts";
import { afterRecord, type LaneState, snapshotOf } from "./lane-state.ts";
import type { Link, LinkAnswer, Prompt } from "./link.ts";
import { decideTurn } from "./turn-policy.ts";
import { overdue } from "./turn-time.ts";

/** Records between two snapshots. */
const SNAPSHOT_EVERY = 128;
const RELEASE_MS = 5000;

/** Does the work of a lane, one piece after the other, for as long as it is held. */
export class HeldLane {
  readonly #deps: LaneDeps;
  readonly #options: LaneOptions;
  readonly #claim: Claim;
  readonly #link: Link;
  readonly #publisher: AnswerPublisher;
  #state: LaneState;
  #turnOpen = false;

  constructor(deps: LaneDeps, options: LaneOptions, claim: Claim, link: Link) {
    this.#deps = deps;
    this.#options = options;
    this.#claim = claim;
    this.#link = link;
    this.#state = claim.state;
    this.#publisher = new AnswerPublisher(deps, claim.lane, claim.resultsAfter);
  }

  get turnOpen(): boolean {
    return this.#turnOpen;
  }

  /**
   * Pulls until `draining`, and works until `signal`; a turn that is open then is given back. The lane is released at
   * the end, however it comes.
   * @throws Fenced, ConsumerGone, AgentLost
   */
  async run(draining: AbortSignal, signal: AbortSignal): Promise<void> {
    const stop = AbortSignal.any([signal, this.#link.gone]);
    try {
      await this.#finish({ looksFirst: true }, signal);
      this.#link.established();
      const noMore = AbortSignal.any([stop, draining]);
      while (!noMore.aborted) await this.#step(noMore, stop, signal);
    } catch (err) {
      if (!stop.aborted && !draining.aborted) throw err;
    } finally {
      await this.#release();
    }
    if (this.#link.gone.aborted) throw this.#link.gone.reason;
  }

  /**
   * @param stop also when the agent goes: no more can be asked of it
   * @param signal what it has answered by then is still published
   */
  async #step(noMore: AbortSignal, stop: AbortSignal, signal: AbortSignal): Promise<void> {
    const { bus, clock } = this.#deps;
    const { consumer } = this.#claim;
    await bus.connected(noMore);
    const item = await consumer.pull(noMore);
    if (item === undefined) {
      await bus.connected(noMore);
      const isThere = await consumer.exists().catch(() => undefined);
      if (isThere === undefined) await clock.sleep(250, noMore);
      if (isThere === false) throw consumer.gone();
      return;
    }
    this.#deps.reached("pulled");
    try {
      await this.#work(item, stop, signal);
    } catch (err) {
      if (stop.aborted) item.nak();
      throw err;
    }
  }

  async #work(item: WorkItem, stop: AbortSignal, signal: AbortSignal): Promise<void> {
    const { logger, metrics, events } = this.#deps;
    const { lane } = this.#claim;
    if (item.deliveries > 1) metrics.redeliveries.inc();
    const place = { ...lane, maxBytes: this.#options.maxMessageBytes };
    const work = readWork(item.data, place);
    const fields = { session_id: lane.sessionId, role: lane.role, agent_id: this.#link.agentId };
    logger.info(
      { action: "message_received", direction: "work", ...fields, id: work.id, bytes: item.data.length },
      "work came",
    );
    metrics.messages.inc({ direction: "in", dialect: "nats", kind: "work" });
    metrics.messageBytes.inc(item.data.length);
    if (isRefusal(work)) return rejectWork(this.#deps, lane, item, work, signal);
    const decision = decideTurn(this.#state, work, this.#options.limitsOf(lane.role));
    switch (decision.type) {
      case "id_reused":
        return rejectWork(this.#deps, lane, item, { reason: "id_reused", id: work.id }, signal);
      case "duplicate":
        metrics.duplicates.inc({ where: "work" });
        events.publish(lane.sessionId, "work.duplicate", { role: lane.role, id: work.id });
        return this.#acknowledge(item);
      case "finish":
        await this.#finish({ looksFirst: true }, signal);
        return this.#acknowledge(item);
      case "uncertain":
        return this.#settleUncertain(item, work, signal);
      case "attempts":
        return this.#settle(item, work, ownFailure("attempts", "it was tried too often"), this.#attempts(), signal);
      case "ask":
        return this.#ask(item, work, decision, stop, signal);
    }
  }

  async #settleUncertain(item: WorkItem, work: WorkMessage, stop: AbortSignal): Promise<void> {
    const { metrics, events } = this.#deps;
    const { lane } = this.#claim;
    metrics.uncertain.inc();
    const text = "the agent was interrupted after it had the prompt; what it did is not known";
    await this.#settle(item, work, ownFailure("uncertain", text), this.#attempts(), stop);
    events.publish(lane.sessionId, "work.uncertain", { role: lane.role, id: work.id });
  }

  #attempts(): number {
    return this.#state.prompted?.attempt ?? 1;
  }

  async #ask(
    item: WorkItem,
    work: WorkMessage,
    { attempt, afterMs }: { readonly attempt: number; readonly afterMs: number },
    stop: AbortSignal,
    signal: AbortSignal,
  ): Promise<void> {
    const { metrics, reached } = this.#deps;
    if (afterMs > 0) await this.#wait(item, afterMs, stop);
    const { id, hash } = work;
    const { dialect } = this.#link;
    const exchanges = continuesConversation(work) ? this.#state.exchanges : [];
    const traceparent = item.headers?.get("traceparent") || undefined;
    const prompt = { work, exchanges, attempt, traceparent };
    const early = await this.#whileWorking(item, this.#link.prepare?.(prompt, stop), signal);
    if (early !== undefined) return this.#settle(item, work, early, attempt, signal);
    await this.#append({ t: "prompted", id, hash, work_seq: item.seq, attempt, dialect }, signal);
    reached("prompted");
    this.#turnOpen = true;
    const observe = metrics.latency.startTimer({ hop: "turn" });
    try {
      const answer = await this.#askInTime(item, prompt, signal);
      const settled = metrics.latency.startTimer({ hop: "answer_to_result" });
      await this.#settle(item, work, answer, attempt, signal);
      settled();
    } catch (err) {
      if (!(err instanceof AgentLost) || signal.aborted || this.#maySendAgain(work)) throw err;
      await this.#settleUncertain(item, work, signal);
    } finally {
      observe();
      this.#turnOpen = false;
    }
  }

  #maySendAgain({ payload }: WorkMessage): boolean {
    return payload["idempotent"] === true || this.#options.limitsOf(this.#claim.lane.role).resends(this.#link.dialect);
  }

  /** Until something is ready the server hears that the work is not forgotten. */
  async #whileWorking<T>(item: WorkItem, ready: Promise<T> | undefined, signal: AbortSignal): Promise<T | undefined> {
    if (ready === undefined) return undefined;
    const over = new AbortController();
    const [deadlineMs, idleMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    const time = { deadlineMs, idleMs, everyMs: this.#options.ackWaitMs / 3, lastFrameMs: () => 0 };
    const watching = overdue(
      this.#deps.clock,
      { ...time, stillWorking: () => item.working() },
      AbortSignal.any([signal, over.signal]),
    );
    watching.catch(() => {});
    try {
      return await ready;
    } finally {
      over.abort(new Error("it is ready"));
    }
  }

  /** Between two attempts; the server hears that the work is not forgotten. */
  async #wait(item: WorkItem, ms: number, stop: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const every = this.#options.ackWaitMs / 3;
    for (let left = ms; left > 0; left -= every) {
      await clock.sleep(Math.min(left, every), stop);
      item.working();
    }
  }

  async #askInTime(item: WorkItem, prompt: Prompt, signal: AbortSignal): Promise<LinkAnswer> {
    const { clock, reached } = this.#deps;
    const { deadlineMs, idleMs, ackWaitMs } = this.#options;
    const over = new AbortController();
    const turn = AbortSignal.any([signal, over.signal]);
    const watching = overdue(
      clock,
      {
        ...{ deadlineMs, idleMs, everyMs: ackWaitMs / 3 },
        lastFrameMs: () => this.#link.lastFrameMs,
        stillWorking: () => item.working(),
      },
      turn,
    ).then((bound) => ownFailure("deadline", `the agent exceeded the turn's ${bound} time`));
    const asking = this.#link.ask(prompt, turn);
    reached("asked");
    try {
      return await Promise.race([asking, watching]);
    } finally {
      watching.catch(() => {});
      asking.catch(() => {});
      over.abort(new Error("the turn is over"));
    }
  }

  /** Records the answer, publishes it, records that, and acknowledges the work. */
  async #settle(
    item: WorkItem,
    work: WorkMessage,
    { parts, exchange }: LinkAnswer,
    attempt: number,
    stop: AbortSignal,
  ): Promise<void> {
    const { metrics, reached } = this.#deps;
    const kept = exchange && Buffer.byteLength(writeJson(exchange)) <= MAX_CONVERSATION_BYTES ? exchange : undefined;
    const answered: Answered = {
      ...{ t: "answered", id: work.id, hash: work.hash, parts, attempt },
      ...{ agent_id: this.#link.agentId, dialect: this.#link.dialect, results_after: this.#publisher.last },
      ...(kept && { exchange: kept }),
      fresh: !continuesConversation(work),
    };
    await this.#append(answered, stop);
    reached("answered");
    const traceparent = item.headers?.get("traceparent") || undefined;
    await this.#finish({ looksFirst: false, traceparent }, stop);
    metrics.turns.inc({ link: "accept", outcome: outcomeOf(parts) });
    if (exchange !== undefined && kept === undefined) this.#truncated(1);
    await this.#acknowledge(item);
  }

  /** Publishes the answer that the log holds, if there is one, and records that it is done. */
  async #finish(
    { looksFirst, traceparent }: { readonly looksFirst: boolean; readonly traceparent?: string | undefined },
    stop: AbortSignal,
  ): Promise<void> {
    const { answered, exchanges } = this.#state;
    if (answered === undefined) return;
    await this.#publisher.publish(answered, { looksFirst, traceparent }, stop);
    this.#logSent(answered);
    await this.#append({ t: "done", id: answered.id, hash: answered.hash }, stop);
    this.#deps.reached("done");
    const expected = (answered.fresh ? 0 : exchanges.length) + (answered.exchange ? 1 : 0);
    if (this.#state.exchanges.length < expected) this.#truncated(expected - this.#state.exchanges.length);
    if (this.#state.records >= SNAPSHOT_EVERY) await this.#append(snapshotOf(this.#state), stop);
  }

  #logSent({ id, parts, attempt }: Answered): void {
    const { logger, metrics } = this.#deps;
    const { lane } = this.#claim;
    const { agentId } = this.#link;
    metrics.messages.inc({ direction: "out", dialect: "nats", kind: "result" }, parts.length);
    logger.info(
      {
        ...{ action: "message_sent", direction: "result", session_id: lane.sessionId, role: lane.role },
        ...{ agent_id: agentId, id, parts: parts.length, outcome: outcomeOf(parts), attempt },
      },
      "results are published",
    );
  }

  #truncated(exchanges: number): void {
    const { sessionId, role } = this.#claim.lane;
    this.#deps.events.publish(sessionId, "transcript.truncated", { role, exchanges });
  }

  /** A failure changes nothing: the work comes again and is recognised. */
  async #acknowledge(item: WorkItem): Promise<void> {
    const { logger, reached } = this.#deps;
    try {
      await item.ack();
      reached("acked");
    } catch (err) {
      logger.warn({ action: "ack_failed", work_seq: item.seq, err: errorText(err) }, "the server does not answer");
    }
  }

  async #append(record: LaneRecord, stop: AbortSignal): Promise<void> {
    await this.#claim.log.append(record, stop);
    this.#state = afterRecord(this.#state, record);
  }

  async #release(): Promise<void> {
    const { clock, bus } = this.#deps;
    const { log, consumer, generation } = this.#claim;
    if (log.isFenced || !bus.isConnected) return;
    const left = new AbortController();
    try {
      const released = log.append({ t: "released", generation }, left.signal).then(() => consumer.delete());
      released.catch(() => {});
      await withTimeout(clock, RELEASE_MS, "releasing the lane", released);
    } catch {
      // The next claimant finds out by itself that this relay does not hold it.
    } finally {
      left.abort(new Error("given up"));
    }
  }
}

function ownFailure(reason: Parameters<typeof failure>[0], text: string): LinkAnswer {
  return { parts: [failure(reason, text)], exchange: undefined };
}

function outcomeOf(parts: readonly ResultPart[]): string {
  return parts.at(-1)?.type ?? "none";
}
