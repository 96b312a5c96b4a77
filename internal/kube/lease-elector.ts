import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import type { KubeApi } from "./kube-api.ts";
import { isFault } from "./kube-errors.ts";
import { LeaseClient, type LeaseName } from "./lease-client.ts";
import { type LeaseRecord, mayTake, microTime, type Observation, observe } from "./lease-record.ts";

export interface LeaseElectorDeps {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly logger: Logger;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  /**
   * Runs while this replica leads, once per term. When the signal is aborted, it must stop writing and return; the
   * lease is neither released nor acquired again before that. Each write must call `assertLeads` first, whatever the
   * signal says.
   */
  readonly lead: (signal: AbortSignal, term: number) => Promise<void>;
}

export interface LeaseElectorOptions {
  readonly lease: LeaseName;
  /** Identifies this replica; different at each start. */
  readonly identity: string;
  /** Default: client-go's values. */
  readonly times?: ElectionTimes;
}

export interface ElectionTimes {
  /** Other replicas wait this long after the last renewal they saw. */
  readonly leaseMs: number;
  /**
   * This replica steps down this long after its last renewal. Must be below `leaseMs` by more than the time of a write.
   */
  readonly renewDeadlineMs: number;
  readonly retryMs: number;
}

const TIMES: ElectionTimes = { leaseMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 };

/** A time at which this replica surely held the lease: just before it sent the last successful renewal. */
interface Held {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/**
 * Leader election with a Lease, by client-go's rules: a lease expires by the time that has passed *locally* since its
 * record changed, so the clocks of replicas need not agree. A lease cannot exclude two leaders in all cases, so every
 * write must be idempotent.
 */
export class LeaseElector {
  readonly #deps: LeaseElectorDeps;
  readonly #options: LeaseElectorOptions;
  readonly #times: ElectionTimes;
  readonly #client: LeaseClient;
  #observation: Observation | undefined;
  #held: Held | undefined;

  constructor(deps: LeaseElectorDeps, options: LeaseElectorOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#times = options.times ?? TIMES;
    this.#client = new LeaseClient(deps.api, options.lease, this.#times.renewDeadlineMs / 2);
  }

  /**
   * True while this replica leads; false as soon as the renew deadline has passed on either clock: a process or machine
   * that was suspended does not lead when it resumes, even before any of its timers has fired.
   */
  get leads(): boolean {
    return this.#leftMs() > 0;
  }

  /** The identity of the leader, as far as known; empty: none. */
  get leader(): string {
    return this.#observation?.record.holder ?? "";
  }

  /** To be called right before each write. @throws DomainError `precondition` if this replica does not lead */
  assertLeads(): void {
    if (!this.leads) throw new DomainError("precondition", "cannot write: this replica is not the leader");
  }

  /** Takes part in elections until the signal is aborted; then waits for `lead` to return and releases the lease. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    while (!signal.aborted) {
      try {
        if (await this.#tryToHold(signal)) await this.#leadWhileHeld(signal);
        // Jitter keeps candidates apart; the wait is short, so that a released lease is taken within one period.
        await clock.sleep(this.#times.retryMs * (0.5 + 0.4 * random()), signal);
      } catch (err) {
        if (!signal.aborted) throw err;
      }
    }
  }

  async #leadWhileHeld(signal: AbortSignal): Promise<void> {
    const { lead, logger } = this.#deps;
    const term = this.#observation?.record.transitions ?? 0;
    const lost = new AbortController();
    logger.info({ identity: this.#options.identity, term }, "this replica leads");
    const leading = lead(AbortSignal.any([signal, lost.signal]), term)
      .catch((err: unknown) => {
        if (!signal.aborted && !lost.signal.aborted) logger.error({ err }, "the leader's work failed");
      })
      .finally(() => lost.abort(new DomainError("cancelled", "the leader's work has ended")));
    try {
      await this.#renew(AbortSignal.any([signal, lost.signal]), term);
    } finally {
      lost.abort(new DomainError("precondition", "this replica is no longer the leader"));
      await leading;
      await this.#release();
      logger.info({ identity: this.#options.identity, term }, "this replica no longer leads");
    }
  }

  /**
   * Renews until the lease is lost or `signal` is aborted. The deadline applies even while a renewal hangs. If another
   * replica has held the lease meanwhile, a new term begins, and the work of this term ends.
   */
  async #renew(signal: AbortSignal, term: number): Promise<void> {
    const { clock } = this.#deps;
    const ended = new AbortController();
    const either = AbortSignal.any([signal, ended.signal]);
    const watch = this.#untilDeadline(either).then(() =>
      ended.abort(new DomainError("deadline", "not renewed in time")),
    );
    watch.catch(() => {});
    try {
      while (this.#held !== undefined && this.#observation?.record.transitions === term) {
        await clock.sleep(this.#times.retryMs, either);
        await this.#tryToHold(either);
      }
    } catch (err) {
      if (!either.aborted) throw err;
    } finally {
      ended.abort(new DomainError("cancelled", "renewing has ended"));
      await watch.catch(() => {});
    }
  }

  async #untilDeadline(signal: AbortSignal): Promise<void> {
    for (let leftMs = this.#leftMs(); leftMs > 0; leftMs = this.#leftMs()) await this.#deps.clock.sleep(leftMs, signal);
  }

  #leftMs(): number {
    if (this.#held === undefined) return 0;
    const { clock } = this.#deps;
    const elapsed = Math.max(clock.monotonicMs() - this.#held.monotonicMs, clock.now() - this.#held.wallMs);
    return Math.max(0, this.#times.renewDeadlineMs - elapsed);
  }

  /** Tries once to take or renew the lease; returns whether this replica holds it. An error changes nothing. */
  async #tryToHold(signal: AbortSignal): Promise<boolean> {
    const { clock, logger } = this.#deps;
    const sentAt = { monotonicMs: clock.monotonicMs(), wallMs: clock.now() };
    try {
      const record = await this.#hold(signal);
      this.#held = record === undefined ? undefined : sentAt;
      return record !== undefined;
    } catch (err) {
      signal.throwIfAborted();
      logger.warn({ err }, "cannot renew or take the lease");
      return false;
    }
  }

  /** Returns the record with this replica as holder; undefined: another replica holds the lease. */
  async #hold(signal: AbortSignal): Promise<LeaseRecord | undefined> {
    const own = this.#observation?.record;
    // No read is needed: no other replica writes a held lease.
    if (this.leads && own?.holder === this.#options.identity) {
      try {
        return this.#seen(await this.#client.update(this.#next(own), signal));
      } catch (err) {
        if (!isFault(err, "conflict") && !isFault(err, "not-found")) throw err;
      }
    }
    return this.#readAndHold(signal);
  }

  async #readAndHold(signal: AbortSignal): Promise<LeaseRecord | undefined> {
    const { clock } = this.#deps;
    let record: LeaseRecord;
    try {
      record = await this.#client.read(signal);
    } catch (err) {
      if (!isFault(err, "not-found")) throw err;
      // Deleted by hand: its holder leads until it notices, so treat the lease as held for its remaining duration.
      if (!this.#mayTake()) return undefined;
      const before = this.#observation && { ...this.#observation.record, resourceVersion: "" };
      return this.#seen(await this.#client.create(this.#next(before), signal));
    }
    this.#observation = observe(this.#observation, record, clock.monotonicMs());
    if (!this.#mayTake()) return undefined;
    return this.#seen(await this.#client.update(this.#next(record), signal));
  }

  #mayTake(): boolean {
    const seen = this.#observation;
    return seen === undefined || mayTake(seen, this.#options.identity, this.#deps.clock.monotonicMs());
  }

  #seen(record: LeaseRecord): LeaseRecord {
    this.#observation = { record, seenAt: this.#deps.clock.monotonicMs() };
    return record;
  }

  #next(before: LeaseRecord | undefined): LeaseRecord {
    const now = microTime(this.#deps.clock.now());
    const { identity } = this.#options;
    const isOwn = before?.holder === identity;
    return {
      holder: identity,
      durationMs: this.#times.leaseMs,
      renewTime: now,
      acquireTime: isOwn && before.acquireTime !== "" ? before.acquireTime : now,
      transitions: before === undefined ? 0 : before.transitions + (isOwn ? 0 : 1),
      resourceVersion: before?.resourceVersion ?? "",
    };
  }

  /** Lets another replica lead at once. Does nothing if another replica may hold the lease by now. */
  async #release(): Promise<void> {
    const record = this.#observation?.record;
    const isHeld = this.leads && record?.holder === this.#options.identity;
    this.#held = undefined;
    if (!isHeld || record === undefined) return;
    const now = microTime(this.#deps.clock.now());
    const free = { ...record, holder: "", durationMs: 1_000, renewTime: now, acquireTime: now };
    try {
      this.#seen(await this.#client.update(free, NEVER));
    } catch (err) {
      this.#deps.logger.warn({ err }, "cannot release the lease: it will expire");
    }
  }
}

const NEVER = new AbortController().signal;
