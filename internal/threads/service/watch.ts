import { within } from "../../base/abort.ts";
import { DomainError } from "../../base/errors.ts";
import { isoTime } from "../../base/text/iso-time.ts";
import type { Change } from "../domain/changes.ts";
import { threadsCodeOf, threadsError } from "../domain/faults.ts";
import { cursorOf } from "../domain/ids.ts";
import type { Reads } from "../domain/store.ts";
import { type Escalation, isOpenWake, type Principal, type Thread, type Waiting, type Wake } from "../domain/types.ts";
import { roleClassOf, type ServiceDeps, seesAll } from "./access.ts";
import { SentStates } from "./sent-states.ts";
import { escalationView, messageView, threadView, waitingView, wakeView } from "./views.ts";
import type { ThreadsUpdate, WatchInput, WireThread } from "./wire.ts";

const PAGE = 100;
const MESSAGES = 200;
/** Wakes and escalations are also polled, since notifications may be lost. */
const LOOK_MS = 2000;
const AWAY_MS = 500;
const HEARTBEAT_MS = 15_000;
/**
 * How many of an agent's newest wakes are read after a notification. Rarely do more begin and end between two reads.
 */
const NEWEST = 3;
/** How many of the newest wakes, in any state, a stream begins with. */
const RECENT = 50;

/**
 * Yields the state that a caller may see, then each change of it: a snapshot of its threads, recent and open wakes and
 * unresolved escalations, then messages, by thread in order of seq, and changed items. A slow reader gets every
 * message, and the newest state of everything else.
 */
export async function* watchThreads(
  deps: ServiceDeps,
  caller: Principal,
  input: WatchInput,
  signal: AbortSignal,
): AsyncGenerator<ThreadsUpdate, void, undefined> {
  yield* new ThreadsWatch(deps, caller, afterOf(input)).updates(signal);
}

/** @throws DomainError `invalid`, code VALIDATION_ERROR */
function afterOf({ after = {} }: WatchInput): ReadonlyMap<string, number> {
  const entries = Object.entries(after);
  for (const [threadId, seq] of entries) {
    if (Number.isSafeInteger(seq) && seq >= 0) continue;
    throw threadsError("VALIDATION_ERROR", `after[${JSON.stringify(threadId.slice(0, 64))}] is not a seq`);
  }
  return new Map(entries);
}

interface Page {
  readonly threads: readonly WireThread[];
  /** The cursor of the next page; undefined: this is the last one. */
  readonly next: string | undefined;
}

/** `agent`: the caller, if it may see only its own wakes and escalations; absent: those of all agents are shown. */
interface Whose {
  readonly agent?: string;
}

class ThreadsWatch {
  readonly #deps: ServiceDeps;
  readonly #caller: Principal;
  readonly #after: ReadonlyMap<string, number>;
  /** By thread, the last seq that was sent. */
  readonly #seqs = new Map<string, number>();
  readonly #threads = new SentStates();
  readonly #wakes = new SentStates();
  readonly #escalations = new SentStates();
  #dirty = new Set<string>();
  #agents = new Set<string>();
  #hasMissed = false;
  #news = Promise.withResolvers<void>();

  constructor(deps: ServiceDeps, caller: Principal, after: ReadonlyMap<string, number>) {
    this.#deps = deps;
    this.#caller = caller;
    this.#after = after;
  }

  async *updates(signal: AbortSignal): AsyncGenerator<ThreadsUpdate, void, undefined> {
    const { changes, clock, store } = this.#deps;
    using _heard = changes.subscribe((change) => this.#heard(change));
    const reads = store.reads(this.#caller.workspace);
    yield* this.#snapshot(reads);
    const whose = await this.#whose(reads);
    yield* this.#work(reads, whose, await reads.wakes({ ...whose, limit: RECENT }));
    let beatAt = clock.monotonicMs() + HEARTBEAT_MS;
    while (!signal.aborted) {
      const isAway = yield* this.#look(reads);
      if (clock.monotonicMs() >= beatAt) {
        beatAt = clock.monotonicMs() + HEARTBEAT_MS;
        this.#hasMissed = true; // notifications may be lost unnoticed
        yield { heartbeat: isoTime(clock.now()) };
      }
      if (isAway) await clock.sleep(AWAY_MS, signal).catch(() => {});
      else await within(clock, LOOK_MS, this.#news.promise, signal);
    }
  }

  #heard(change: Change | undefined): void {
    if (change === undefined) this.#hasMissed = true;
    else if (change.workspace !== this.#caller.workspace) return;
    else {
      if (change.threadId !== undefined) this.#dirty.add(change.threadId);
      for (const agent of change.agents ?? []) this.#agents.add(agent);
    }
    this.#news.resolve();
  }

  /**
   * Yields all threads, in pages. Marks a thread as dirty if it has messages after the seq that the request names for
   * it.
   */
  async *#snapshot(reads: Reads): AsyncGenerator<ThreadsUpdate, void, undefined> {
    const unread_total = await reads.unreadTotal(this.#caller.agent);
    for await (const { threads, next } of this.#pages(reads)) {
      for (const { thread_id: threadId, last_seq: lastSeq } of threads) {
        const seq = Math.min(this.#after.get(threadId) ?? lastSeq, lastSeq);
        this.#seqs.set(threadId, seq);
        if (seq < lastSeq) this.#dirty.add(threadId);
      }
      for (const thread of threads) this.#threads.recordIfChanged(thread.thread_id, thread);
      yield { snapshot: { threads, unread_total, ...(next !== undefined && { next_cursor: next }) } };
    }
  }

  async *#pages(reads: Reads): AsyncGenerator<Page, void, undefined> {
    const { agent } = this.#caller;
    const all = seesAll(roleClassOf(this.#caller, await reads.policy()));
    let before: { readonly updatedAt: number; readonly threadId: string } | undefined;
    do {
      const page = await reads.threads({ limit: PAGE + 1, agent, all, before });
      const shown = page.slice(0, PAGE);
      const waiting = await reads.waitingIn(shown.map(({ thread }) => thread.threadId));
      const last = shown.at(-1)?.thread;
      before = page.length > PAGE && last ? { updatedAt: last.updatedAt, threadId: last.threadId } : undefined;
      const threads = shown.map(({ thread, unread }) => viewOf(thread, unread, waiting));
      yield { threads, next: before && cursorOf([before.updatedAt, before.threadId]) };
    } while (before !== undefined);
  }

  /**
   * Yields the changes since the last look. Returns whether the database is unavailable; the next look then reads
   * everything again.
   */
  async *#look(reads: Reads): AsyncGenerator<ThreadsUpdate, boolean, undefined> {
    this.#news = Promise.withResolvers<void>();
    const [dirty, agents, hasMissed] = [this.#dirty, this.#agents, this.#hasMissed];
    this.#dirty = new Set();
    this.#agents = new Set();
    this.#hasMissed = false;
    try {
      if (hasMissed) for (const threadId of await this.#changed(reads)) dirty.add(threadId);
      for (const threadId of dirty) yield* this.#thread(reads, threadId);
      const whose = await this.#whose(reads);
      const seen = [...agents].filter((one) => whose.agent === undefined || whose.agent === one);
      const newest = await Promise.all(seen.map((agent) => reads.wakes({ agent, limit: NEWEST })));
      const recent = hasMissed ? await reads.wakes({ ...whose, limit: RECENT }) : [];
      yield* this.#work(reads, whose, [...newest.flat(), ...recent]);
      return false;
    } catch (err) {
      if (!(err instanceof DomainError) || threadsCodeOf(err) !== "UNAVAILABLE") throw err;
      for (const one of dirty) this.#dirty.add(one);
      for (const one of agents) this.#agents.add(one);
      this.#hasMissed = true;
      return true;
    }
  }

  /** The ids of threads whose state differs from the state that was sent last. */
  async #changed(reads: Reads): Promise<readonly string[]> {
    const changed: string[] = [];
    for await (const { threads } of this.#pages(reads)) {
      for (const one of threads) if (!this.#threads.isLastSent(one.thread_id, one)) changed.push(one.thread_id);
    }
    return changed;
  }

  async *#thread(reads: Reads, threadId: string): AsyncGenerator<ThreadsUpdate, void, undefined> {
    const { agent } = this.#caller;
    const found = await reads.thread(threadId);
    if (found === undefined) return;
    const members = await reads.participants(threadId);
    const isIn = members.some((one) => one.agentId === agent);
    if (!isIn && !seesAll(roleClassOf(this.#caller, await reads.policy()))) return;
    if (!this.#seqs.has(threadId)) {
      // The thread is new to the caller, so it is sent before its first message.
      this.#seqs.set(threadId, Math.min(this.#after.get(threadId) ?? 0, found.lastSeq));
      yield* this.#threadIfNews(reads, found, isIn);
    }
    for (;;) {
      const afterSeq = this.#seqs.get(threadId) ?? 0;
      const messages = await reads.messages({ threadId, afterSeq, limit: MESSAGES });
      for (const message of messages) {
        this.#seqs.set(threadId, message.seq);
        yield { message: messageView(message) };
      }
      if (messages.length < MESSAGES) break;
    }
    yield* this.#threadIfNews(reads, (await reads.thread(threadId)) ?? found, isIn);
  }

  async *#threadIfNews(reads: Reads, thread: Thread, isIn: boolean): AsyncGenerator<ThreadsUpdate, void, undefined> {
    const { threadId } = thread;
    const unread = isIn ? await reads.unread(threadId, this.#caller.agent) : 0;
    const view = viewOf(thread, unread, await reads.waitingIn([threadId]));
    if (this.#threads.recordIfChanged(threadId, view)) yield { thread: view };
  }

  /** Yields the wakes and escalations whose state differs from the state that was sent last. */
  async *#work(reads: Reads, whose: Whose, also: readonly Wake[]): AsyncGenerator<ThreadsUpdate, void, undefined> {
    const open = await reads.openWakes(this.#wakes.open, whose.agent);
    const wakes = new Map([...also, ...open].map((wake) => [wake.wakeId, wake]));
    for (const wake of [...wakes.values()].sort((a, b) => a.createdAt - b.createdAt)) {
      const view = wakeView(wake);
      if (this.#wakes.recordIfChanged(wake.wakeId, view, isOpenWake(wake.state))) yield { wake: view };
    }
    for (const one of await reads.unresolvedEscalations(this.#escalations.open)) {
      if (whose.agent !== undefined && one.owner !== whose.agent && !this.#escalations.has(one.escalationId)) continue;
      const view = escalationView(one);
      if (this.#escalations.recordIfChanged(one.escalationId, view, isUnresolved(one))) yield { escalation: view };
    }
  }

  async #whose(reads: Reads): Promise<Whose> {
    return seesAll(roleClassOf(this.#caller, await reads.policy())) ? {} : { agent: this.#caller.agent };
  }
}

function viewOf(thread: Thread, unread: number, waiting: readonly Waiting[]): WireThread {
  const own = waiting.filter((one) => one.threadId === thread.threadId);
  const { pausedUntil } = thread;
  return {
    ...threadView(thread, unread),
    waiting: own.map(waitingView),
    ...(pausedUntil !== undefined && { paused_until: isoTime(pausedUntil) }),
  };
}

function isUnresolved({ state }: Escalation): boolean {
  return state !== "resolved";
}
