import { firstOf, untilAborted } from "../../base/abort.ts";
import { backoffStepMs } from "../../base/backoff.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { MachineTime } from "../../base/machine-time.ts";
import { Serial } from "../../base/serial.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import { hashOf, type NudgeRecord, ownerOf, type RestoredNudge } from "../../session/nudge-record.ts";
import { type Cleaner, checkedNudge, QUIET_DEFAULT_MS } from "../../session/nudge-request.ts";
import type { Asker, NudgeOutcome, NudgeReceipt, NudgeRequest } from "../../session/types.ts";
import type { Courier } from "./courier.ts";
import type { DeliveryResult } from "./delivery-attempt.ts";
import { decide } from "./delivery-policy.ts";
import { NudgeBook } from "./nudge-book.ts";
import { receiptOf, type TrackedNudge } from "./tracked-nudge.ts";

export interface MailboxDeps {
  readonly clock: Clock;
  /** The time by which request ids age. */
  readonly time: MachineTime;
  readonly logger: Logger;
  /** Stores a record so that it outlives this process, before the call returns. */
  readonly keep: (record: NudgeRecord) => void;
  readonly clean: Cleaner;
  readonly courier: Courier;
  /** Notified when the situation may have changed. */
  readonly changes: SignalBus;
  /** Called when another check of the delivery policy holds or ends a message, with the check's name. */
  readonly held: (check: string) => void;
  /** Called with each final receipt, and the check that held the message last. */
  readonly ended: (receipt: NudgeReceipt, heldBy?: string) => void;
  readonly newId: () => string;
}

/** Is notified of what happens to messages. */
export type NudgeObserver = Pick<MailboxDeps, "held" | "ended">;

/** How often the queue is checked without any change: for time-outs and quiet output. */
const LOOK_MS = 250;
/** The pauses between attempts that typed nothing; the first pauses are shorter. */
const PAUSE = { firstMs: 20, maxMs: 1000, factor: 2 };

/**
 * Accepts messages, keeps them in order, passes them one at a time to the delivery when the situation allows, and
 * remembers every receipt. There is one mailbox per agent, and everything that is typed goes through it.
 */
export class Mailbox {
  readonly #deps: MailboxDeps;
  readonly #book = new NudgeBook();
  readonly #woken = new SignalBus();
  /** Held by every writer to the pane. */
  readonly #pen = new Serial();
  readonly #stop = new AbortController();
  #interrupts = 0;

  /** `restored`: the nudges of an earlier process. */
  constructor(deps: MailboxDeps, restored: readonly RestoredNudge[]) {
    this.#deps = deps;
    for (const { nudge, intent, ended } of restored) {
      const phase = ended !== undefined ? "ended" : intent ? "unseen" : "waiting";
      const common = { nudge, callerReleased: true, waiting: 0, attempts: 0, changed: new SignalBus() };
      this.#book.add({
        ...common,
        receipt: ended?.receipt,
        endedAt: ended?.at,
        endedMs: ended && deps.time.atMs(ended.moment),
        phase,
      });
    }
    const ended = [...this.#book.all()].filter((tracked) => tracked.phase === "ended");
    for (const tracked of ended.sort((a, b) => (a.endedMs ?? 0) - (b.endedMs ?? 0))) this.#book.ended(tracked);
  }

  /** Messages not yet typed. */
  get depth(): number {
    return this.#book.waiting().length;
  }

  /**
   * Accepts a message and waits for its end, at most the request's time-out (mode `queue`: not at all). The same
   * request id with the same message returns that message's receipt and types nothing.
   * @throws DomainError `invalid` (see `checkedNudge`), `already-exists` (same id, other message), `exhausted` (queue
   * full).
   */
  async send(request: NudgeRequest, signal: AbortSignal): Promise<NudgeReceipt> {
    const checked = checkedNudge(request, this.#deps.newId);
    const known = this.#book.get(checked.requestId, this.#deps.time.nowMs());
    if (known !== undefined && known.nudge.messageHash !== hashOf(checked.message)) {
      throw new DomainError(
        "already-exists",
        `request id ${JSON.stringify(checked.requestId)} belongs to another message`,
      );
    }
    const tracked = known ?? this.#accept(checked);
    await this.#awaitEnd(tracked, checked, signal);
    return this.#receipt(tracked);
  }

  /** @throws DomainError `not-found`: never accepted, forgotten, or not visible to this caller. */
  get(requestId: string, asker?: Asker): NudgeReceipt {
    return this.#receipt(this.#find(requestId, asker));
  }

  /** Cancels a message if nothing of it has been typed yet; returns its receipt either way. @throws as `get` */
  cancel(requestId: string, asker?: Asker): NudgeReceipt {
    const tracked = this.#find(requestId, asker);
    if (tracked.phase === "waiting") this.#end(tracked, "cancelled", "cancelled before it was typed");
    return this.#receipt(tracked);
  }

  /** Runs `work`, which may write to the pane, while nothing is delivered. */
  async exclusively<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.#pen.inTurn(async () => {
      try {
        return await work(this.#stop.signal);
      } finally {
        this.#deps.courier.leftover?.gone();
        this.#woken.notify();
      }
    });
  }

  /**
   * Runs `work`, which presses Ctrl-C or Escape, at once: ahead of all waiting work and of a delivery under way. Such a
   * key may empty the composer, so a text that left it meanwhile counts as submitted only if the agent itself reports
   * it.
   */
  async interrupt<T>(work: () => Promise<T>): Promise<T> {
    const mark = () => {
      this.#interrupts++;
      for (const tracked of this.#book.open()) {
        if (tracked.phase === "delivering" || tracked.phase === "unseen") tracked.interrupted = true;
      }
    };
    mark();
    try {
      return await work();
    } finally {
      mark();
      this.#deps.courier.leftover?.gone();
    }
  }

  /** Changes with every interruption. */
  get interrupts(): number {
    return this.#interrupts;
  }

  /** All messages in the form that a journal restores. */
  snapshot(): readonly RestoredNudge[] {
    const { time } = this.#deps;
    return [...this.#book.all()].map(({ nudge, phase, receipt, endedAt = nudge.acceptedAt, endedMs = 0 }) => ({
      nudge,
      intent: phase === "delivering" || phase === "unseen",
      ended: receipt && { receipt, at: endedAt, moment: time.momentOf(endedMs) },
    }));
  }

  /** Delivers until the signal is aborted. An attempt under way then ends first, or is left to `recover`. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", () => this.#stop.abort(signal.reason), { once: true });
    await untilAborted(signal, async () => {
      await this.#recoverUnseen(signal);
      const next = await this.#next(signal);
      if (next !== undefined) await this.#pen.inTurn(() => this.#deliver(next, signal));
      else await this.#pause(signal);
    });
  }

  #accept(request: NudgeRequest): TrackedNudge {
    const { owner = "" } = request;
    const safe = this.#deps.clean(request.message);
    const acceptedAt = this.#deps.clock.now();
    const { requestId, message, mode, priority, sender, quietMs = QUIET_DEFAULT_MS } = request;
    const text = safe.type === "safe" ? safe.text : "";
    const expiresAt = acceptedAt + request.ttlMs;
    const messageHash = hashOf(message);
    const who = { sender, owner };
    const nudge = { requestId, messageHash, message, text, mode, priority, ...who, quietMs, acceptedAt, expiresAt };
    const acceptedMonotonicMs = this.#deps.clock.monotonicMs();
    const fresh = {
      phase: "waiting",
      callerReleased: false,
      waiting: 0,
      attempts: 0,
      changed: new SignalBus(),
    } as const;
    const tracked: TrackedNudge = { nudge, acceptedMonotonicMs, ...fresh };
    this.#book.makeRoom(owner, this.#deps.time.nowMs());
    this.#deps.keep({ type: "accepted", nudge });
    if (safe.type === "unsafe") this.#end(tracked, "unsafe", safe.reason);
    this.#book.add(tracked);
    this.#woken.notify();
    return tracked;
  }

  async #awaitEnd(tracked: TrackedNudge, request: NudgeRequest, signal: AbortSignal): Promise<void> {
    const deadline = this.#deps.clock.monotonicMs() + request.timeoutMs;
    tracked.waiting++;
    while (tracked.phase !== "ended") {
      const left = deadline - this.#deps.clock.monotonicMs();
      if (request.mode === "queue" || left <= 0) break;
      try {
        await tracked.changed.nextOrAfter(left, this.#deps.clock, signal);
      } catch (err) {
        if (!signal.aborted) throw err;
        break;
      }
    }
    // Once no caller waits for an answer, the message may wait longer.
    tracked.waiting--;
    if (tracked.waiting === 0) tracked.callerReleased = true;
  }

  async #next(signal: AbortSignal): Promise<TrackedNudge | undefined> {
    if (this.depth === 0) return undefined;
    const situation = await this.#deps.courier.situation(signal);
    for (const tracked of this.#book.waiting()) {
      const candidate = {
        mode: tracked.nudge.mode,
        parked: tracked.callerReleased || tracked.nudge.mode === "queue",
        quietMs: tracked.nudge.quietMs ?? QUIET_DEFAULT_MS,
        expired: this.#ageMs(tracked) >= tracked.nudge.expiresAt - tracked.nudge.acceptedAt,
      };
      const decision = decide(candidate, situation);
      if (decision.type === "deliver") return tracked;
      this.#held(tracked, decision.check);
      if (decision.type === "end") this.#end(tracked, decision.outcome, decision.error);
    }
    return undefined;
  }

  #held(tracked: TrackedNudge, check: string): void {
    if (tracked.heldBy === check) return;
    tracked.heldBy = check;
    this.#deps.logger.debug({ request_id: tracked.nudge.requestId, check }, "nudge held");
    this.#deps.held(check);
  }

  async #deliver(tracked: TrackedNudge, signal: AbortSignal): Promise<void> {
    if (tracked.phase !== "waiting") return; // it was cancelled while something else held the pen
    tracked.phase = "delivering";
    tracked.startedMs = this.#ageMs(tracked);
    let intended = false;
    const result = await this.#deps.courier.deliver(
      tracked,
      () => {
        intended = true;
        this.#deps.keep({ type: "intent", requestId: tracked.nudge.requestId });
      },
      signal,
    );
    this.#settle(tracked, result, intended);
    if (result.type === "retry") await this.#deps.clock.sleep(backoffStepMs(PAUSE, tracked.attempts++), signal);
  }

  async #recoverUnseen(signal: AbortSignal): Promise<void> {
    for (const tracked of [...this.#book.open()]) {
      if (tracked.phase !== "unseen") continue;
      await this.#pen.inTurn(async () => {
        tracked.startedMs = this.#ageMs(tracked);
        this.#settle(tracked, await this.#deps.courier.recover(tracked, signal), true);
      });
    }
  }

  #settle(tracked: TrackedNudge, result: DeliveryResult, intended: boolean): void {
    if (result.type === "retry") {
      tracked.phase = "waiting";
      if (intended) this.#deps.keep({ type: "withdrawn", requestId: tracked.nudge.requestId });
      this.#deps.logger.debug({ request_id: tracked.nudge.requestId, reason: result.reason }, "delivery is retried");
      return;
    }
    if (result.stands === true) this.#deps.courier.leftover?.left(tracked.nudge.text);
    const end = tracked.interrupted === true ? interruptedResult(result) : result;
    this.#end(tracked, end.outcome, end.error, end);
  }

  #end(
    tracked: TrackedNudge,
    outcome: NudgeOutcome,
    error: string,
    result?: DeliveryResult & { readonly type: "done" },
  ): void {
    const { clock, time } = this.#deps;
    const at = clock.now();
    const endedMs = time.nowMs();
    const receipt = receiptOf(tracked, outcome, error, result);
    this.#deps.keep({ type: "ended", receipt, at, moment: time.momentOf(endedMs) });
    tracked.phase = "ended";
    tracked.receipt = receipt;
    tracked.endedAt = at;
    tracked.endedMs = endedMs;
    this.#book.ended(tracked);
    this.#deps.ended(receipt, tracked.heldBy);
    tracked.changed.notify();
  }

  /** Milliseconds since the message was accepted. */
  #ageMs({ nudge, acceptedMonotonicMs }: TrackedNudge): number {
    const { clock } = this.#deps;
    if (acceptedMonotonicMs !== undefined) return Math.round(clock.monotonicMs() - acceptedMonotonicMs);
    return Math.max(0, Math.round(clock.now() - nudge.acceptedAt));
  }

  #receipt(tracked: TrackedNudge): NudgeReceipt {
    if (tracked.receipt !== undefined) return tracked.receipt;
    const position = this.#book.waiting().indexOf(tracked) + 1;
    const error = position === 0 ? "it is being typed" : "it is waiting for the agent";
    return { ...receiptOf(tracked, "queued", error), queuePosition: position };
  }

  #find(requestId: string, asker?: Asker): TrackedNudge {
    const tracked = this.#book.get(requestId, this.#deps.time.nowMs());
    const isHidden = asker !== undefined && !asker.seesAll && tracked && ownerOf(tracked.nudge) !== asker.owner;
    if (tracked === undefined || isHidden)
      throw new DomainError("not-found", `no message with request id ${JSON.stringify(requestId)}`);
    return tracked;
  }

  async #pause(signal: AbortSignal): Promise<void> {
    const ms = this.depth > 0 ? LOOK_MS : 60_000;
    await firstOf(
      signal,
      (stop) => this.#woken.next(stop),
      (stop) => this.#deps.changes.nextOrAfter(ms, this.#deps.clock, stop),
    );
  }
}

/** The result of a delivery during which Ctrl-C or Escape was pressed. */
function interruptedResult(result: DeliveryResult & { readonly type: "done" }): typeof result {
  const proven = result.evidence.some((one) => one.source === "hook" && one.confidence === "proof");
  if (result.outcome !== "submitted" || proven) return result;
  const error = "Ctrl-C or Escape was pressed while it was typed, and the agent did not report that it accepted it";
  const { confirmedMs: _, ...unconfirmed } = result;
  return { ...unconfirmed, outcome: "unknown", error };
}
