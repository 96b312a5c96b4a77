import type { Clock } from "../../base/clock.ts";

export interface ConnectionLimits {
  /** The most connections that have completed their handshake or sent their first bytes. */
  readonly maxConnections: number;
  /** The most of these per caller. */
  readonly maxConnectionsOfOne: number;
  /** The most of these for all callers without a role together. */
  readonly maxWithoutRole: number;
  /** A connection without calls ends after this, ms; PINGs do not count. */
  readonly idleMs: number;
  /** The same for a caller without a role. */
  readonly idleWithoutRoleMs: number;
  /**
   * True: if no connection is idle, the oldest one of the caller with the most is cut for a new one. False: only if
   * that caller has at least two more connections than the new one's, or both have no role.
   */
  readonly mayCutBusy: boolean;
}

export interface OpenConnection {
  /** The key under which it counts: an identity, or an address. */
  readonly share: string;
  readonly hasRole: boolean;
  /** Closes it gracefully: with GOAWAY, if the protocol has it. */
  close(): void;
  destroy(): void;
}

/** A connection with its state. */
export class TrackedConnection {
  readonly connection: OpenConnection;
  hasRole: boolean;
  calls = 0;
  /** When its last call ended; monotonic, ms. */
  idleSince: number;
  readonly closed = new AbortController();
  readonly #clock: Clock;

  constructor(connection: OpenConnection, clock: Clock) {
    this.connection = connection;
    this.hasRole = connection.hasRole;
    this.#clock = clock;
    this.idleSince = clock.monotonicMs();
  }

  begin(): void {
    this.calls++;
  }

  end(): void {
    if (--this.calls === 0) this.idleSince = this.#clock.monotonicMs();
  }
}

/** Callers without a role share one quota: none of them has precedence over the others. */
const WITHOUT_ROLE = "without role";

/**
 * The connections of a server, shared fairly among its callers: each caller has a quota, and callers without a role a
 * small one together. Without room for a new connection, it replaces one of the same caller or of the caller with the
 * most, namely the one that has been idle longest. Idle connections end after a while.
 */
export class OpenConnections {
  readonly #clock: Clock;
  readonly #limits: ConnectionLimits;
  readonly #onCut: () => void;
  /** Connections by share, the oldest first. */
  readonly #shares = new Map<string, Set<TrackedConnection>>();
  #size = 0;

  /** `onCut`: called when a connection was cut for a newer one, or refused for lack of room. */
  constructor(clock: Clock, limits: ConnectionLimits, onCut: () => void) {
    this.#clock = clock;
    this.#limits = limits;
    this.#onCut = onCut;
  }

  get size(): number {
    return this.#size;
  }

  /** Adds a new connection; if there is no room for it, destroys it and returns undefined. */
  add(connection: OpenConnection): TrackedConnection | undefined {
    const tracked = new TrackedConnection(connection, this.#clock);
    if (!this.#makePlace(tracked)) {
      this.#onCut();
      connection.destroy();
      return undefined;
    }
    this.#put(tracked);
    void this.#endWhenIdle(tracked);
    return tracked;
  }

  /** Removes a connection that has closed. */
  remove(tracked: TrackedConnection): void {
    tracked.closed.abort();
    this.#take(tracked);
  }

  #take(tracked: TrackedConnection): void {
    const share = shareOf(tracked);
    const own = this.#shares.get(share);
    if (own?.delete(tracked) !== true) return;
    this.#size--;
    if (own.size === 0) this.#shares.delete(share);
  }

  /** The caller has proven a role with an admitted call, for example by a token. */
  promote(tracked: TrackedConnection): void {
    if (tracked.hasRole || tracked.closed.signal.aborted) return;
    this.#take(tracked);
    tracked.hasRole = true;
    this.#put(tracked);
  }

  #put(tracked: TrackedConnection): void {
    const share = shareOf(tracked);
    this.#shares.set(share, (this.#shares.get(share) ?? new Set()).add(tracked));
    this.#size++;
  }

  #makePlace(newcomer: TrackedConnection): boolean {
    const { maxConnections, maxConnectionsOfOne, maxWithoutRole, mayCutBusy } = this.#limits;
    const own = this.#shares.get(shareOf(newcomer)) ?? new Set();
    const limit = newcomer.hasRole ? maxConnectionsOfOne : maxWithoutRole;
    const isBusyCut = mayCutBusy || !newcomer.hasRole;
    if (own.size >= limit) return this.#cut(longestIdle(own) ?? (isBusyCut ? first(own) : undefined));
    if (this.#size < maxConnections) return true;
    const most = [...this.#shares.values()].reduce((a, b) => (b.size > a.size ? b : a), own);
    const isFair = mayCutBusy || most.size > own.size + 1;
    return this.#cut(longestIdle(most) ?? longestIdle(own) ?? (isFair ? first(most) : undefined));
  }

  #cut(victim: TrackedConnection | undefined): boolean {
    if (victim === undefined) return false;
    this.#onCut();
    this.remove(victim);
    victim.connection.destroy();
    return true;
  }

  async #endWhenIdle(tracked: TrackedConnection): Promise<void> {
    const { signal } = tracked.closed;
    for (;;) {
      const limit = tracked.hasRole ? this.#limits.idleMs : this.#limits.idleWithoutRoleMs;
      const left = tracked.calls > 0 ? limit : tracked.idleSince + limit - this.#clock.monotonicMs();
      if (left <= 0) return tracked.connection.close();
      try {
        await this.#clock.sleep(left, signal);
      } catch {
        return;
      }
    }
  }
}

function shareOf({ hasRole, connection }: TrackedConnection): string {
  return hasRole ? `of ${connection.share}` : WITHOUT_ROLE;
}

function first(connections: ReadonlySet<TrackedConnection>): TrackedConnection | undefined {
  for (const connection of connections) return connection;
  return undefined;
}

function longestIdle(connections: ReadonlySet<TrackedConnection>): TrackedConnection | undefined {
  let found: TrackedConnection | undefined;
  for (const each of connections) {
    if (each.calls === 0 && (found === undefined || each.idleSince < found.idleSince)) found = each;
  }
  return found;
}
