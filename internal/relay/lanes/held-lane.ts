import { promptBlocks } from "../acp/acp-turn.ts";
import { writeJson } from "../acp/json-text.ts";
import { cancellation, failure } from "../acp/result-parts.ts";
import { continuesConversation } from "../acp/user-message.ts";
import { isRefusal, type WorkMessage } from "../acp/work-message.ts";
import { LogLost, StoreLost } from "../nats/lane-log.ts";
import { LaneWork } from "../nats/lane-work.ts";
import type { WorkItem } from "../nats/work-item.ts";
import { AgentLost, NotTaken } from "./agent-lost.ts";
import { readLaneWork, rejectWork } from "./dead-letters.ts";
import type { Claim } from "./lane-claim.ts";
import type { LaneDeps, LaneOptions } from "./lane-deps.ts";
import { LaneJournal } from "./lane-journal.ts";
import type { Prompted } from "./lane-records.ts";
import type { LaneState } from "./lane-state.ts";
import type { LaneLink, LinkAnswer, Prompt } from "./link.ts";
import { OpenTurn } from "./open-turn.ts";
import { askInTime } from "./timed-turn.ts";
import { type Ask, decideTurn, nextAttempt, type TurnDecision } from "./turn-policy.ts";
import { overdue } from "./turn-time.ts";

/** Does the work of a lane, one piece at a time, for as long as the lane is held. */
export class HeldLane {
  readonly link: LaneLink;
  readonly #deps: LaneDeps;
  readonly #options: LaneOptions;
  readonly #claim: Claim;
  readonly #journal: LaneJournal;
  readonly #source: LaneWork;
  #turn: OpenTurn | undefined;

  constructor(deps: LaneDeps, options: LaneOptions, claim: Claim, link: LaneLink) {
    this.#deps = deps;
    this.#options = options;
    this.#claim = claim;
    this.link = link;
    this.#source = new LaneWork(deps.bus, deps.clock, claim.consumer);
    this.#journal = new LaneJournal(deps, claim, link);
  }

  get turnOpen(): boolean {
    return this.#turn?.asked === true;
  }

  /** The work that is being processed. */
  get turn(): OpenTurn | undefined {
    return this.#turn;
  }

  get generation(): number {
    return this.#claim.generation;
  }

  get state(): LaneState {
    return this.#journal.state;
  }

  /**
   * Records that work must not be done, or not be continued; a repetition changes nothing. False: its answer is already
   * recorded.
   * @throws Fenced, or the signal's reason
   */
  async cancel(id: string, by: string, signal: AbortSignal): Promise<boolean> {
    await this.#journal.append(
      ({ answered, done, cancelled }) =>
        answered?.id === id || done.has(id) || cancelled.has(id) ? undefined : { t: "cancelled", id, by },
      signal,
    );
    if (!this.state.cancelled.has(id)) return false;
    if (this.#turn?.work.id === id) this.#turn.cancel();
    return true;
  }

  /**
   * Pulls work until `draining`, and works until `signal`; then gives an open turn back. Always releases the lane at
   * the end.
   * @throws Fenced, ConsumerGone, AgentLost
   */
  async run(draining: AbortSignal, signal: AbortSignal): Promise<void> {
    const stop = AbortSignal.any([signal, this.link.gone]);
    try {
      await this.#journal.begin(signal);
      this.link.established();
      const noMore = AbortSignal.any([stop, draining]);
      while (!noMore.aborted) await this.#step(noMore, stop, signal);
    } catch (err) {
      if (!stop.aborted && !draining.aborted) throw err;
    } finally {
      await this.#journal.release();
    }
    if (this.link.gone.aborted) throw this.link.gone.reason;
  }

  /**
   * @param stop also aborted when the agent is gone and can no longer be asked
   * @param signal until it is aborted, an answer that the agent has given is still published
   */
  async #step(noMore: AbortSignal, stop: AbortSignal, signal: AbortSignal): Promise<void> {
    const item = await this.#source.next(noMore);
    if (item === undefined) return;
    this.#deps.reached("pulled");
    try {
      await this.#work(item, stop, signal);
    } catch (err) {
      if (stop.aborted) item.nak();
      throw err;
    }
  }

  async #work(item: WorkItem, stop: AbortSignal, signal: AbortSignal): Promise<void> {
    const { logger, metrics, clock } = this.#deps;
    const { lane } = this.#claim;
    if (item.deliveries > 1) metrics.redeliveries.inc();
    const work = readLaneWork(this.#deps, item, { ...lane, maxBytes: this.#options.maxMessageBytes });
    const fields = { session_id: lane.sessionId, role: lane.role, agent_id: this.link.agentId };
    logger.info(
      { action: "message_received", direction: "work", ...fields, id: work.id, bytes: item.data.length },
      "work came",
    );
    metrics.messages.inc({ direction: "in", dialect: "nats", kind: "work" });
    metrics.messageBytes.inc(item.data.length);
    if (isRefusal(work)) return rejectWork(this.#deps, lane, item, work, signal);
    const limits = this.#options.limitsOf(lane.role);
    const decision = decideTurn(this.state, work, limits, clock.now() - item.storedAt);
    let next: TurnDecision | undefined = decision;
    while (next?.type === "ask") next = await this.#ask(item, work, next, stop, signal);
    if (next !== undefined) await this.#withoutAgent(item, work, next, signal);
  }

  async #withoutAgent(
    item: WorkItem,
    work: WorkMessage,
    decision: Exclude<TurnDecision, { readonly type: "ask" }>,
    signal: AbortSignal,
  ): Promise<void> {
    const { metrics, events } = this.#deps;
    const { lane } = this.#claim;
    switch (decision.type) {
      case "id_reused":
      case "expired":
        return rejectWork(this.#deps, lane, item, { reason: decision.type, id: work.id }, signal);
      case "duplicate":
        metrics.duplicates.inc({ where: "work" });
        events.publish(lane.sessionId, "work.duplicate", { role: lane.role, id: work.id });
        return this.#journal.acknowledge(item);
      case "finish":
        await this.#journal.finish(true, signal);
        return this.#journal.acknowledge(item);
      case "uncertain":
        return this.#settleUncertain(item, work, signal);
      case "cancelled":
        return this.#settle(item, work, cancelledBy(decision.by), this.#attempts(), signal);
      case "attempts":
        return this.#settle(item, work, ownFailure("attempts", "it was tried too often"), this.#attempts(), signal);
    }
  }

  async #settleUncertain(item: WorkItem, work: WorkMessage, signal: AbortSignal): Promise<void> {
    const { metrics, events } = this.#deps;
    const { lane } = this.#claim;
    metrics.uncertain.inc();
    const text = "the agent was interrupted after it had the prompt, so the outcome is unknown";
    await this.#settle(item, work, ownFailure("uncertain", text), this.#attempts(), signal);
    events.publish(lane.sessionId, "work.uncertain", { role: lane.role, id: work.id });
  }

  #attempts(): number {
    return this.state.prompted?.attempt ?? 1;
  }

  /** Asks the agent, and settles the work. Returns the next decision if the work is not settled. */
  async #ask(
    item: WorkItem,
    work: WorkMessage,
    ask: Ask,
    stop: AbortSignal,
    signal: AbortSignal,
  ): Promise<TurnDecision | undefined> {
    const { attempt } = ask;
    const given = { work, attempt, dialect: this.link.dialect, traceparent: traceparentOf(item) };
    const turn = OpenTurn.begin(this.#deps.tracer, this.#claim.lane, given);
    this.#turn = turn;
    const observe = this.#deps.metrics.latency.startTimer({ hop: "turn" });
    try {
      const answer = await this.#answerOf(item, turn, ask, stop, signal);
      const settled = this.#deps.metrics.latency.startTimer({ hop: "answer_to_result" });
      await this.#settle(item, work, answer ?? this.#cancelledAnswer(work), attempt, signal);
      settled();
      return undefined;
    } catch (err) {
      turn.failed(err, signal.aborted);
      if (turn.asked && (err instanceof LogLost || signal.reason instanceof StoreLost)) this.#storeLost(work);
      const isOver = (err instanceof AgentLost || err instanceof NotTaken) && !signal.aborted;
      if (isOver && this.state.cancelled.has(work.id) && this.state.answered === undefined) {
        await this.#settle(item, work, this.#cancelledAnswer(work), attempt, signal);
        return undefined;
      }
      if (!isOver || !turn.asked) throw err;
      if (err instanceof NotTaken) return this.#again(attempt, err);
      if (this.#maySendAgain(work)) {
        if (this.link.kind !== "bridge") throw err;
        return this.#again(attempt, err);
      }
      await this.#settleUncertain(item, work, signal);
      return undefined;
    } finally {
      if (turn.asked) observe();
      turn.end();
      this.#turn = undefined;
    }
  }

  #again(attempt: number, { message }: Error): TurnDecision {
    const { sessionId: session_id, role } = this.#claim.lane;
    this.#deps.logger.warn({ action: "asked_again", session_id, role, attempt, reason: message }, "a turn has failed");
    return nextAttempt(attempt, this.#options.limitsOf(role));
  }

  /** Reports that the outcome of the work is unknown, since NATS has lost its store. */
  #storeLost({ id }: WorkMessage): void {
    const { metrics, events } = this.#deps;
    const { sessionId, role } = this.#claim.lane;
    metrics.uncertain.inc();
    events.publish(sessionId, "work.uncertain", { role, id, reason: "store_lost" });
  }

  /** Asks the agent for its answer. Undefined: the turn was cancelled. */
  async #answerOf(
    item: WorkItem,
    turn: OpenTurn,
    { afterMs, interrupted }: Ask,
    stop: AbortSignal,
    signal: AbortSignal,
  ): Promise<LinkAnswer | undefined> {
    const { clock, reached } = this.#deps;
    const { work, attempt, cancelled } = turn;
    const prompt = this.#promptFor(turn, interrupted);
    const before = AbortSignal.any([stop, cancelled]);
    try {
      if (afterMs > 0) await this.#wait(item, afterMs, before);
      const early = await this.#whileWorking(item, this.link.prepare?.(prompt, before), signal);
      if (early !== undefined) return early;
      if (continuesConversation(work)) this.#checkSession(prompt);
      const { id, hash } = work;
      const record = { t: "prompted", id, hash, work_seq: item.seq, attempt, ...placeOf(this.link) } as const;
      await this.#journal.append((state) => (state.cancelled.has(id) ? undefined : record), signal);
    } catch (err) {
      if (cancelled.aborted && !stop.aborted) return undefined;
      throw err;
    }
    if (this.state.cancelled.has(work.id)) return undefined;
    reached("prompted");
    const onAsked = () => {
      turn.asked = true;
      this.#deps.rings.prompted(this.#claim.lane, work.id, promptRecord(work));
      reached("asked");
    };
    return await askInTime(clock, { link: this.link, item, prompt, cancelled, onAsked }, this.#options, signal);
  }

  #promptFor({ work, attempt, traceparent }: OpenTurn, interrupted: Prompted | undefined): Prompt {
    const { exchanges, agentSession } = this.state;
    const said = continuesConversation(work) ? exchanges : [];
    return { work, exchanges: said, attempt, traceparent, agentSession, interrupted };
  }

  #checkSession({ agentSession }: Prompt): void {
    const { sessionId, role } = this.#claim.lane;
    if (agentSession === undefined || agentSession === this.link.agentSession) return;
    this.#deps.events.publish(sessionId, "transcript.truncated", { role, reason: "session_lost" });
  }

  #cancelledAnswer({ id }: WorkMessage): LinkAnswer {
    return cancelledBy(this.state.cancelled.get(id) ?? "control");
  }

  #maySendAgain({ payload }: WorkMessage): boolean {
    return payload["idempotent"] === true || this.#options.limitsOf(this.#claim.lane.role).resends(this.link.dialect);
  }

  /** Tells the server that the work is in progress until `ready` settles. */
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

  /** Waits between two attempts, and tells the server that the work is in progress. */
  async #wait(item: WorkItem, ms: number, stop: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const every = this.#options.ackWaitMs / 3;
    for (let left = ms; left > 0; left -= every) {
      await clock.sleep(Math.min(left, every), stop);
      item.working();
    }
  }

  /** Records the answer, publishes it, records that the work is done, and acknowledges the work. */
  async #settle(
    item: WorkItem,
    work: WorkMessage,
    answer: LinkAnswer,
    attempt: number,
    signal: AbortSignal,
  ): Promise<void> {
    const traceparent = this.#turn?.traceparent ?? traceparentOf(item);
    const last = await this.#journal.settle({ work, answer, attempt, traceparent }, signal);
    if (last !== undefined) this.#turn?.answered(last);
    await this.#journal.acknowledge(item);
  }
}

function traceparentOf({ headers }: WorkItem): string | undefined {
  return headers?.get("traceparent") || undefined;
}

/** The dialect, session and place that the log records for a prompt. */
function placeOf({ dialect, agentSession, agentPlace }: LaneLink): Pick<Prompted, "dialect"> & Partial<Prompted> {
  return { dialect, agent_session: agentSession, agent_place: agentPlace };
}

/** A prompt as it is shown to editors that open the session again. */
function promptRecord(work: WorkMessage): string {
  return writeJson({ id: work.id, type: "prompt", payload: { prompt: promptBlocks(work) } });
}

function ownFailure(reason: Parameters<typeof failure>[0], text: string): LinkAnswer {
  return { parts: [failure(reason, text)], exchange: undefined };
}

/** @internal */
export function cancelledBy(by: string): LinkAnswer {
  return { parts: [cancellation(by)], exchange: undefined };
}
