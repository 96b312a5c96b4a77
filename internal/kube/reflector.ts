import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import { SignalBus } from "../base/signal-bus.ts";
import { runTasks } from "../base/task-group.ts";
import { differingKeys } from "./audit.ts";
import { type Collection, collectionRequest } from "./collection.ts";
import { jsonLines } from "./json-lines.ts";
import type { KubeApi } from "./kube-api.ts";
import { isFault, KubeApiError } from "./kube-errors.ts";
import { keyOf } from "./kube-object.ts";
import { listPages, projected } from "./list-pages.ts";
import { type Delta, ObjectStore } from "./object-store.ts";
import { RetryDelay } from "./retry-delay.ts";
import { type WatchEvent, watchEvent } from "./watch-event.ts";

export interface ReflectorDeps<T> {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly logger: Logger;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  /**
   * Called for every change, in the API server's order, right after the store was updated. Must return at once: put the
   * key into a work queue. Errors that it throws are logged.
   */
  readonly onDelta: (delta: Delta<T>) => void;
}

/** Counted since the start. */
export interface ReflectorCounts {
  readonly lists: number;
  readonly watches: number;
  readonly events: number;
  readonly failures: number;
  /**
   * Changes that the watch did not deliver, found by the audit. Any value but 0 is a bug, here or in the API server.
   */
  readonly missed: number;
}

/** client-go's values. */
const RETRY = { firstMs: 800, maxMs: 30_000, factor: 2, resetMs: 120_000 };
/**
 * Longest Retry-After that is honoured: a proxy on the way may answer with its own maintenance window; the API server
 * asks for seconds.
 */
const MAX_ASKED_MS = 60_000;
const WATCH_S = { min: 300, spread: 300 };
const SHORT_WATCH_MS = 1_000;
/** Longer than the minute between two bookmarks; shorter than the 75 s for which an API server can resume a watch. */
const IDLE_MS = 70_000;
const MAX_EVENT_BYTES = 16 << 20;
/** Read the list again after this many watches in a row that broke without delivering an event. */
const MAX_FRUITLESS = 3;
const AUDIT_MS = { min: 600_000, spread: 1_200_000 };
/** Events in flight when the audit reads its list arrive within this time. */
const AUDIT_SETTLE_MS = 10_000;
/** Minimum wait between a failure and the next attempt after `hurry`. */
const HURRY_MS = 1_000;

interface Pause {
  readonly ms: number;
  /** The API server asked for the pause. */
  readonly isAsked: boolean;
}

/**
 * A copy of a collection that follows the API server: a paged list, then a watch that is resumed from the last event or
 * bookmark. Never gives up; while the server is away the copy stays unchanged and `staleMs` grows.
 */
export class Reflector<T> {
  readonly store = new ObjectStore<T>();
  /** Notified after changes, and when `isSynced` becomes true. */
  readonly changed = new SignalBus();
  readonly #deps: ReflectorDeps<T>;
  readonly #collection: Collection<T>;
  readonly #delay: RetryDelay;
  readonly #counts = { lists: 0, watches: 0, events: 0, failures: 0, missed: 0 };
  /** Position from which the watch continues; undefined: the list must be read. */
  #position: string | undefined;
  #isSynced = false;
  #contactAt: number;
  /** When the watch began or last received a byte. */
  #watchedAt = 0;
  #fruitless = 0;
  #cutWatch: ((reason: Error) => void) | undefined;
  /** Ends a quiet watch in favour of a list; undefined: no watch is open. */
  #cutQuiet: (() => void) | undefined;
  #isAway = false;
  /** When the last list, event or bookmark came. */
  #caughtUpAt: number;
  /** Ends the pause before the next attempt; undefined: there is no pause, or the API server asked for it. */
  #hurry: (() => void) | undefined;
  /** Keys that changed since the audit began; undefined: no audit is running. */
  #touched: Set<string> | undefined;

  constructor(deps: ReflectorDeps<T>, collection: Collection<T>) {
    this.#deps = deps;
    this.#collection = collection;
    this.#delay = new RetryDelay(deps, RETRY);
    this.#contactAt = this.#caughtUpAt = deps.clock.monotonicMs();
  }

  get counts(): ReflectorCounts {
    return { ...this.#counts };
  }

  /** True once the list has been read: an object that was not in the store then did not exist. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  /**
   * True while the API server has sent no list, event or bookmark since it failed to answer an attempt here or an
   * urgent call: an object that is not in the store may exist. A watch over a network that drops everything fails only
   * after 70 s.
   */
  get isAway(): boolean {
    const { unansweredAtMs } = this.#deps.api;
    return this.#isAway || (unansweredAtMs !== undefined && unansweredAtMs > this.#caughtUpAt);
  }

  /**
   * To be called when an object is wanted that the store does not have. While the server is away, the next attempt is
   * made at once, but at most once a second. A watch that has been quiet since then is replaced by a list: the next
   * bookmark may be a minute away.
   */
  hurry(): void {
    this.#hurry?.();
    if (this.isAway) this.#cutQuiet?.();
  }

  /** Time since the API server was last heard from, ms. Up to 70 s is normal. */
  get staleMs(): number {
    return this.#deps.clock.monotonicMs() - this.#contactAt;
  }

  async run(signal: AbortSignal): Promise<void> {
    await runTasks(signal, [{ run: (each) => this.#follow(each) }, { run: (each) => this.#audit(each) }]);
  }

  async #follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#position === undefined) await this.#list(signal);
        await this.#watch(signal);
      } catch (err) {
        if (signal.aborted) return;
        await this.#pause(this.#failed(err), signal);
      }
    }
  }

  async #pause({ ms, isAsked }: Pause, signal: AbortSignal): Promise<void> {
    const hurried = new AbortController();
    const from = this.#deps.clock.monotonicMs();
    const hurry = () => this.#deps.clock.monotonicMs() - from >= HURRY_MS && hurried.abort();
    this.#hurry = isAsked ? undefined : hurry;
    await this.#deps.clock.sleep(ms, AbortSignal.any([signal, hurried.signal])).catch(() => {});
    this.#hurry = undefined;
  }

  /** Decides where to continue; returns how long to wait first. */
  #failed(err: unknown): Pause {
    const mustList = isFault(err, "gone") || isFault(err, "invalid") || this.#fruitless >= MAX_FRUITLESS;
    const isExpected = isFault(err, "gone") && this.#delay.isFresh;
    const delayMs = this.#delay.next();
    if (mustList) [this.#position, this.#fruitless] = [undefined, 0];
    if (isExpected) return { ms: 0, isAsked: false }; // a quiet collection expires
    this.#counts.failures++;
    this.#isAway = true;
    const askedMs = err instanceof KubeApiError ? (err.retryAfterMs ?? 0) : 0;
    const waitMs = Math.max(delayMs, Math.min(askedMs, MAX_ASKED_MS));
    const { path } = this.#collection;
    this.#deps.logger.warn({ err, path, wait_ms: Math.round(waitMs) }, "cannot follow the cluster: trying again");
    return { ms: waitMs, isAsked: askedMs > 0 };
  }

  async #list(signal: AbortSignal): Promise<void> {
    this.#counts.lists++;
    const { objects, resourceVersion } = await listPages(this.#deps.api, this.#collection, signal);
    signal.throwIfAborted();
    this.#heard();
    this.#caughtUp();
    const deltas = this.store.replace(objects);
    this.#position = resourceVersion;
    this.#isSynced = true;
    this.#emit(deltas);
    this.changed.notify();
  }

  /** Returns when the server ends the watch in time, or a list must be read instead. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    const cut = new AbortController();
    const either = AbortSignal.any([signal, cut.signal]);
    const startedAt = clock.monotonicMs();
    this.#counts.watches++;
    this.#fruitless++;
    this.#watchedAt = startedAt;
    this.#cutWatch = (reason) => cut.abort(reason);
    const quiet = new DomainError("cancelled", "the watch gives way to a list");
    this.#cutQuiet = () => {
      if (clock.monotonicMs() - startedAt < HURRY_MS) return;
      [this.#position, this.#fruitless] = [undefined, 0];
      cut.abort(quiet);
    };
    const watchdog = this.#watchSilence(cut, signal);
    try {
      const timeoutSeconds = WATCH_S.min + Math.floor(random() * (WATCH_S.spread + 1));
      const query = { watch: true, allowWatchBookmarks: true, resourceVersion: this.#position ?? "", timeoutSeconds };
      const bytes = this.#deps.api.stream(collectionRequest(this.#collection, query), either);
      for await (const line of jsonLines(this.#listened(bytes), MAX_EVENT_BYTES)) {
        either.throwIfAborted();
        this.#take(watchEvent(line, this.#collection.path));
      }
      either.throwIfAborted();
    } catch (err) {
      if (cut.signal.reason === quiet) return;
      throw cut.signal.aborted ? cut.signal.reason : err;
    } finally {
      this.#cutWatch = this.#cutQuiet = undefined;
      cut.abort(new DomainError("cancelled", "the watch has ended"));
      await watchdog;
    }
    const isShort = clock.monotonicMs() - startedAt < SHORT_WATCH_MS;
    if (isShort) throw new DomainError("unavailable", `the API server ended a watch within ${SHORT_WATCH_MS} ms`);
  }

  #take(event: WatchEvent): void {
    this.#fruitless = 0;
    this.#caughtUp();
    if (event.type === "bookmark") {
      this.#position = event.resourceVersion;
      return;
    }
    this.#counts.events++;
    const { meta, object } = event;
    const kept = event.type === "put" ? projected(this.#collection, object) : undefined;
    // An object that is no longer kept is removed, whichever incarnation the store has.
    const held = this.store.get(keyOf(meta));
    const uid = event.type === "put" ? (held?.uid ?? "") : meta.uid;
    const deltas = kept === undefined ? this.store.remove(keyOf(meta), uid) : this.store.put(kept);
    this.#position = meta.resourceVersion;
    this.#emit(deltas);
    if (deltas.length > 0) this.changed.notify();
  }

  #emit(deltas: readonly Delta<T>[]): void {
    for (const delta of deltas) {
      this.#touched?.add(delta.object.key);
      try {
        this.#deps.onDelta(delta);
      } catch (err) {
        this.#deps.logger.error({ err, key: delta.object.key }, "cannot pass on a change");
      }
    }
  }

  #caughtUp(): void {
    this.#isAway = false;
    this.#caughtUpAt = this.#deps.clock.monotonicMs();
  }

  #heard(): void {
    this.#contactAt = this.#watchedAt = this.#deps.clock.monotonicMs();
  }

  async *#listened(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of bytes) {
      this.#heard();
      yield chunk;
    }
  }

  /** Cuts a watch that receives no byte, not even a bookmark: its connection is dead, even if it looks open. */
  async #watchSilence(cut: AbortController, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const either = AbortSignal.any([signal, cut.signal]);
    try {
      const left = () => IDLE_MS - (clock.monotonicMs() - this.#watchedAt);
      for (let leftMs = IDLE_MS; leftMs > 0; leftMs = left()) await clock.sleep(leftMs, either);
      cut.abort(new DomainError("unavailable", `the watch was silent for ${IDLE_MS} ms`));
    } catch {
      // The watch has ended.
    }
  }

  async #audit(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#deps;
    while (!signal.aborted) {
      await clock.sleep(AUDIT_MS.min + random() * AUDIT_MS.spread, signal);
      try {
        await this.#auditOnce(signal);
      } catch (err) {
        if (!signal.aborted) logger.warn({ err, path: this.#collection.path }, "cannot compare with the cluster");
      } finally {
        this.#touched = undefined;
      }
    }
  }

  /**
   * Compares the store with a list. If the watch was resumed meanwhile, the store may merely be late, so nothing is
   * concluded.
   */
  async #auditOnce(signal: AbortSignal): Promise<void> {
    if (this.#position === undefined) return;
    const { watches } = this.#counts;
    const touched = new Set<string>();
    this.#touched = touched;
    const { objects } = await listPages(this.#deps.api, this.#collection, signal);
    await this.#deps.clock.sleep(AUDIT_SETTLE_MS, signal);
    if (this.#counts.watches !== watches || this.#position === undefined) return;
    const missed = differingKeys(this.store, objects, touched);
    if (missed.length === 0) return;
    this.#counts.missed += missed.length;
    const sample = missed.slice(0, 10);
    this.#deps.logger.error({ path: this.#collection.path, missed: missed.length, sample }, "the watch missed changes");
    this.#position = undefined;
    this.#cutWatch?.(new DomainError("unavailable", "the watch missed changes"));
  }
}
