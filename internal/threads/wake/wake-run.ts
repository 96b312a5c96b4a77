import { within } from "../../base/abort.ts";
import { backoffMs } from "../../base/backoff.ts";
import { DomainError } from "../../base/errors.ts";
import { requestIdOf } from "../domain/ids.ts";
import type { Policy } from "../domain/policy.ts";
import type { Runtime, RuntimeStatus, SessionSpawner, TakenConversation, WakeReceipt } from "../domain/runtimes.ts";
import type { Wake, WakeAttempt } from "../domain/types.ts";
import { blockedBy, causeOf, DIALOG_MS, isPersonPresent, mustDefer } from "../domain/wake-blocks.ts";
import { afterOutcome, isCollision, type NudgeOutcomeWord, type TakenBack } from "../domain/wake-outcomes.ts";
import type { AttemptIntent, ClaimedWake, WakeResult } from "../domain/wake-store.ts";
import { pointerText, type WaitingThread } from "../domain/wake-text.ts";
import { takeConversation } from "./conversation-turns.ts";
import { firstText, isFresh, type Recovered, Recovery } from "./recovery.ts";
import { unreachableMs } from "./unreachable.ts";
import type { WakeWorkerDeps } from "./wake-worker-deps.ts";

const RENEW_MS = 10_000;
const FOLLOW = { firstMs: 250, maxMs: 5000, factor: 1.6 };
const DEFER_MS = 5000;
const TTL_MS = 30 * 60_000;
const URGENT_TTL_MS = 2 * 3_600_000;
/**
 * A sidecar remembers ended nudges for at least this long. After that, a nudge that it does not know may have been
 * typed.
 */
const REMEMBERED_MS = 24 * 3_600_000;
const SENDER = "threads";

/** Works on one claimed wake, from reading the waiting messages to storing the result. */
export class WakeRun {
  readonly #deps: WakeWorkerDeps & { readonly by: string };
  readonly #claimed: ClaimedWake;
  /** The wake goes back to be claimed again. */
  #isLeft = false;

  constructor(deps: WakeWorkerDeps & { readonly by: string }, claimed: ClaimedWake) {
    this.#deps = deps;
    this.#claimed = claimed;
  }

  /** Never throws: after a failure it releases the wake, and the next process that claims the wake tries again. */
  async run(signal: AbortSignal): Promise<void> {
    const { logger, wakes, by, clock } = this.#deps;
    const { wake, workspace } = this.#claimed;
    const lost = new AbortController();
    const stop = AbortSignal.any([signal, lost.signal]);
    const done = new AbortController();
    const renewing = this.#renew(AbortSignal.any([signal, done.signal]), () => lost.abort(new Error("lease lost")));
    try {
      await this.#work(stop);
    } catch (err) {
      const about = { wake: wake.wakeId, agent: wake.agentId, workspace };
      if (!stop.aborted) logger.warn({ ...about, err }, "a wake failed with an error; trying again");
      if (!stop.aborted) await clock.sleep(1000, stop).catch(() => {});
      this.#isLeft = true;
    }
    done.abort();
    await renewing; // a renewal that is under way would take back the release
    if (this.#isLeft) await wakes.release(this.#claimed, by).catch(() => {});
  }

  async #renew(signal: AbortSignal, onLost: () => void): Promise<void> {
    const { clock, wakes, by } = this.#deps;
    while (!signal.aborted) {
      await clock.sleep(RENEW_MS, signal).catch(() => {});
      if (signal.aborted) return;
      if ((await wakes.renew(this.#claimed, by).catch(() => true)) === false) return onLost();
    }
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { store, wakes } = this.#deps;
    const { workspace, wake } = this.#claimed;
    const reads = store.reads(workspace);
    const attempts = await reads.attempts(wake.wakeId);
    const open = attempts.findLast((one) => one.outcome === undefined);
    const waiting = await reads.waiting(wake.agentId);
    if (open === undefined && waiting.length === 0) return this.#end({ state: "CANCELLED", outcome: "" });
    const policy = await reads.policy();
    const bound = open === undefined ? await wakes.bound(this.#claimed, policy.wakes_per_minute) : undefined;
    if (bound !== undefined) return this.#defer(bound, DEFER_MS);
    const { starter, runner } = this.#deps.runtimes;
    // An attempt with a text is a turn, which another process ran.
    if (starter !== undefined && open !== undefined && open.kind !== "live" && open.text === "") {
      const recovery = new Recovery(this.#deps, this.#claimed, starter);
      return this.#recovered(await recovery.start(open, policy, signal), open);
    }
    const found = await this.#find(signal);
    // The process that has the agent's runtimes judges whether the agent can be reached.
    if (typeof found === "string" && this.#isOfOthers()) {
      this.#isLeft = true;
      return;
    }
    if (found === "none" && starter !== undefined) {
      if (open !== undefined) return this.#settleLast(open, starter, signal);
      const step = await new Recovery(this.#deps, this.#claimed, starter).next(attempts, policy, signal);
      if (step !== undefined) return this.#recovered(step);
    }
    if (found === "none" && starter === undefined) {
      // A turn has no receipt that another process could ask for.
      if (open?.kind === "resume") return this.#settle(open, receiptOf("unknown", "its server has ended"));
      if (open === undefined && runner !== undefined) {
        const next = await takeConversation(wakes, runner, this.#claimed, attempts, policy);
        if (next?.taken === "busy") return this.#defer("rate", DEFER_MS);
        if (next !== undefined) return this.#runTurn(next.taken, next.role, waiting, signal);
      }
    }
    if (typeof found === "string") return this.#defer("unreachable", await this.#unreachableMs(open));
    await using runtime = found;
    const status = await runtime.status(signal);
    const { sessionId, provider, kind, started } = runtime;
    const { agentSessionId = "" } = status;
    const session = { sessionId, agent: wake.agentId, runtime: kind, provider, ...started, agentSessionId };
    await wakes.confirm(workspace, session);
    if (open !== undefined) return this.#recover(runtime, status, open, policy, signal);
    if (wasTakenBack(wake) && isPersonPresent(status, policy.quiet, this.#deps.clock.now())) {
      return this.#defer(status.draft ? "draft" : "person", policy.recheck, "cancelled");
    }
    const next = this.#nextAttempt(waiting);
    const text = isFresh(attempts, sessionId)
      ? await firstText(this.#deps, this.#claimed, next.requestId, waiting)
      : next.text;
    const intent = { ...next, sessionId, epoch: status.epoch, text };
    if (!(await this.#begin(intent))) return;
    await this.#follow(runtime, intent, await this.#nudge(runtime, intent, policy, signal), policy, signal);
  }

  #isOfOthers(): boolean {
    const { kind } = this.#claimed;
    return kind !== undefined && kind !== this.#deps.runtimes.kind;
  }

  #nextAttempt(waiting: readonly WaitingThread[]): Omit<AttemptIntent, "sessionId" | "epoch"> {
    const { wake } = this.#claimed;
    const attempt = wake.attempts + 1;
    const requestId = requestIdOf(wake.wakeId, attempt);
    const upto = Object.fromEntries(waiting.map((one) => [one.threadId, one.upto]));
    return { attempt, requestId, text: pointerText(requestId, waiting), upto };
  }

  /** False: the claim is lost. */
  async #begin(intent: AttemptIntent): Promise<boolean> {
    const ageMs = await this.#deps.wakes.begin(this.#claimed, this.#deps.by, intent);
    if (ageMs !== undefined && intent.attempt === 1) this.#deps.onBegun?.(ageMs);
    return ageMs !== undefined;
  }

  async #find(signal: AbortSignal): Promise<Runtime | "none" | "unreachable"> {
    const { runtimes, logger } = this.#deps;
    const { workspace, wake } = this.#claimed;
    try {
      return (await runtimes.find(workspace, wake.agentId, signal)) ?? "none";
    } catch (err) {
      if (!(err instanceof DomainError) || signal.aborted) throw err;
      logger.debug({ err, agent: wake.agentId }, "the agent's runtime does not answer");
      return "unreachable";
    }
  }

  /**
   * Recovers an attempt that a killed process began: takes over its outcome, or sends the same text again under the
   * same request id. After a restart of the session, or a day, an attempt that the sidecar does not know ends as
   * `unknown`.
   */
  async #recover(
    runtime: Runtime,
    status: RuntimeStatus,
    open: WakeAttempt,
    policy: Policy,
    signal: AbortSignal,
  ): Promise<void> {
    const { attempt, requestId, sessionId, epoch } = open;
    const isOld = (await this.#deps.store.reads(this.#claimed.workspace).now()) - open.begunAt > REMEMBERED_MS;
    const isSameLife = runtime.sessionId === sessionId && status.epoch === epoch && !isOld;
    const known = await runtime.receipt(requestId, signal);
    if (known !== undefined) return this.#follow(runtime, open, known, policy, signal);
    if (!isSameLife) return this.#settle(open, receiptOf("unknown", "its session was restarted"));
    if (!(await this.#deps.wakes.sendAgain(this.#claimed, this.#deps.by, attempt))) return;
    await this.#follow(runtime, open, await this.#nudge(runtime, open, policy, signal), policy, signal);
  }

  async #runTurn(
    conversation: TakenConversation,
    role: string,
    waiting: readonly WaitingThread[],
    signal: AbortSignal,
  ): Promise<void> {
    await using taken = conversation;
    const { wake } = this.#claimed;
    const next = this.#nextAttempt(waiting);
    const { requestId: sessionId, text } = next;
    const intent = { ...next, kind: "resume", sessionId, epoch: "" } as const;
    if (!(await this.#begin(intent))) return;
    const turn = { agent: wake.agentId, role, sessionId, text };
    await this.#settle(intent, await taken.run(turn, signal));
  }

  /** Ends an attempt whose session has ended, with the nudge's last receipt. */
  async #settleLast(open: WakeAttempt, starter: SessionSpawner, signal: AbortSignal): Promise<void> {
    const { workspace } = this.#claimed;
    const { requestId, sessionId } = open;
    let last: WakeReceipt | undefined;
    try {
      last = await starter.lastReceipt(workspace, sessionId, requestId, signal);
    } catch (err) {
      if (!(err instanceof DomainError) || signal.aborted) throw err;
      return this.#defer("unreachable", await this.#unreachableMs(open));
    }
    const receipt = last === undefined || last.outcome === "queued" ? receiptOf("unknown", "its session ended") : last;
    await this.#settle(open, receipt);
  }

  async #recovered({ againMs: known, blockedBy, news, ended }: Recovered, open?: WakeAttempt): Promise<void> {
    const againMs = known ?? (await this.#unreachableMs(open));
    await this.#end({
      ...{ state: "DEFERRED", outcome: ended?.outcome ?? "", blockedBy, againMs, news },
      attempt: ended && { attempt: ended.attempt, receipt: { outcome: ended.outcome, evidence: [] } },
    });
  }

  async #nudge(runtime: Runtime, intent: AttemptIntent, policy: Policy, signal: AbortSignal): Promise<WakeReceipt> {
    const { urgency, lastOutcome, force } = this.#claimed.wake;
    // An interrupting wake that a draft or a dialog has blocked waits in the queue.
    const isImmediate = force || (urgency === "interrupt" && !isCollision(lastOutcome));
    const urgent = urgency !== "normal";
    // Without a quiet time the sidecar waits only for a person who is typing.
    const quietMs = force ? 0 : policy.quiet;
    const request = {
      ...{ requestId: intent.requestId, text: intent.text, sender: SENDER, urgent, quietMs },
      ...{ immediate: isImmediate, ttlMs: urgent ? URGENT_TTL_MS : TTL_MS },
    };
    try {
      return await runtime.nudge(request, signal);
    } catch (err) {
      // The session ended after it was found, so nothing was sent.
      if (err instanceof DomainError && err.kind === "precondition") return receiptOf("agent-dead", err.message);
      throw err;
    }
  }

  /**
   * Waits for the outcome. Cancels the nudge if the agent has read everything meanwhile, a person has blocked it for
   * too long, or an operator has forced the wake.
   */
  async #follow(
    runtime: Runtime,
    intent: AttemptIntent,
    first: WakeReceipt,
    policy: Policy,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, store, wakes, changes } = this.#deps;
    const { workspace, wake } = this.#claimed;
    let news = Promise.withResolvers<void>();
    const own = { workspace, kind: "wake", agents: [wake.agentId] } as const;
    using _heard = changes.subscribe((change) => {
      if (change === undefined || (change !== own && change.agents?.includes(wake.agentId))) news.resolve();
    });
    let receipt: WakeReceipt = first;
    let ours: TakenBack | undefined;
    let shown: string | undefined;
    let isAnnounced = false;
    for (let turn = 0; receipt.outcome === "queued"; turn++) {
      const blocked = blockedBy(await statusOf(runtime, signal));
      const forMs = await wakes.queued(this.#claimed, this.#deps.by, blocked);
      if (blocked.by !== shown) changes.publish(own);
      shown = blocked.by;
      if (!isAnnounced && blocked.by === "dialog" && forMs >= DIALOG_MS) {
        await wakes.announce(this.#claimed, this.#deps.by, "dialog");
        isAnnounced = true;
      }
      await within(clock, backoffMs(FOLLOW, turn, Math.random), news.promise, signal);
      signal.throwIfAborted();
      news = Promise.withResolvers<void>();
      const reads = store.reads(workspace);
      const isRead = (await reads.waiting(wake.agentId)).length === 0;
      const isForced = !wake.force && (await reads.wake(wake.wakeId))?.force === true;
      const isPerson = mustDefer(blocked.by, forMs, policy.max_defer);
      ours = isRead ? "read" : isForced ? "force" : isPerson ? "person" : undefined;
      const { requestId } = intent;
      const now = ours ? await runtime.cancel(requestId, signal) : await runtime.receipt(requestId, signal);
      receipt = now ?? receiptOf("unknown", "the sidecar does not know it any more");
    }
    await this.#settle(intent, receipt, ours);
  }

  async #settle(intent: AttemptIntent, receipt: WakeReceipt, ours?: TakenBack): Promise<void> {
    if (receipt.outcome === "queued") throw new Error("a queued nudge has no outcome yet");
    const { store, logger } = this.#deps;
    const { workspace, wake } = this.#claimed;
    const waits = (await store.reads(workspace).waiting(wake.agentId)).length > 0;
    const { state, againMs, blockedBy, offered, escalate } = afterOutcome(receipt.outcome, waits, ours);
    const news = escalate ? "failed" : state === "DEFERRED" && ours === "person" ? "deferred" : undefined;
    const about = { wake: wake.wakeId, request: intent.requestId, agent: wake.agentId, workspace };
    logger.info({ ...about, outcome: receipt.outcome, state }, "a wake ended");
    await this.#end({
      ...{ state, outcome: receipt.outcome, attempt: { attempt: intent.attempt, receipt } },
      ...{ againMs, blockedBy, offered: offered ? intent.upto : undefined, news },
      collided: wake.force && isCollision(receipt.outcome),
    });
  }

  #defer(blockedBy: string, againMs: number, outcome = ""): Promise<void> {
    return this.#end({ state: "DEFERRED", outcome, blockedBy, againMs });
  }

  async #end(result: WakeResult): Promise<void> {
    const { wakes, changes, by, onEnded } = this.#deps;
    const { workspace, wake } = this.#claimed;
    const ageMs = await wakes.finish(this.#claimed, by, result);
    const { state, blockedBy: deferredBy = "" } = result;
    const isDeferred = state === "DEFERRED" && deferredBy !== "" && deferredBy !== wake.blockedBy;
    onEnded?.({ state, ageMs, deferredBy: isDeferred ? deferredBy : undefined });
    changes.publish({ workspace, kind: "wake", agents: [wake.agentId] });
  }

  async #unreachableMs(open: WakeAttempt | undefined): Promise<number> {
    const { store } = this.#deps;
    const since = this.#claimed.wake.deferredSince ?? open?.begunAt;
    const awayMs = since === undefined ? 0 : (await store.reads(this.#claimed.workspace).now()) - since;
    return unreachableMs(awayMs, Math.random);
  }
}

function receiptOf(outcome: NudgeOutcomeWord, error: string): WakeReceipt {
  return { outcome, error, evidence: [] };
}

/**
 * Whether the wake was taken back because a person blocked it for too long. Its text is typed once the keys are quiet,
 * or once an operator forces the wake.
 */
function wasTakenBack({ lastOutcome, blockedBy: by, force }: Wake): boolean {
  return lastOutcome === "cancelled" && causeOf(by) === "person" && !force;
}

/** Undefined: the runtime does not answer. */
async function statusOf(runtime: Runtime, signal: AbortSignal): Promise<RuntimeStatus | undefined> {
  try {
    return await runtime.status(signal);
  } catch (err) {
    if (signal.aborted) throw err;
    return undefined;
  }
}
