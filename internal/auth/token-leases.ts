import type { Clock } from "../base/clock.ts";
import type { DomainError } from "../base/errors.ts";
import type { Task } from "../base/task-group.ts";
import { includes, type Role } from "./roles.ts";
import { tokenError } from "./token-error.ts";
import type { VerifiedToken } from "./token-verifier.ts";

/** A stream that a token admitted. */
interface Held {
  readonly lease: Lease;
  readonly role: Role;
  readonly end: (why: DomainError) => void;
}

/** The streams of one connection that were admitted by tokens of the same issuer, subject and project. */
interface Lease {
  /** For each role, the token that expires last. */
  readonly tokens: Map<Role, VerifiedToken>;
  streams: number;
}

/** The longest wait between two checks, since the wall clock may be set meanwhile. */
const LOOK_AT_LEAST_EVERY_MS = 60_000;

/**
 * Ends each stream when the token that admitted it expires, unless a newer token was shown on the same connection: one
 * of the same issuer, subject and project, for at least the same role. A token whose key is no longer in use is not
 * valid.
 */
export class TokenLeases implements Task {
  readonly #clock: Clock;
  readonly #holds: (token: VerifiedToken) => boolean;
  readonly #leases = new WeakMap<object, Map<string, Lease>>();
  readonly #held = new Set<Held>();
  #wake = new AbortController();
  #nextLook = Number.POSITIVE_INFINITY;

  /** `holds`: the token's key is still in use. */
  constructor(deps: { readonly clock: Clock; readonly holds: (token: VerifiedToken) => boolean }) {
    this.#clock = deps.clock;
    this.#holds = deps.holds;
  }

  /** The number of open streams. */
  get size(): number {
    return this.#held.size;
  }

  /** Records that a call with `token` arrived on `connection`. */
  shown(connection: object, token: VerifiedToken): void {
    const lease = this.#leases.get(connection)?.get(leaseName(token));
    if (lease !== undefined) keep(lease, token);
  }

  /** Registers a stream that `token` admitted; `end` ends it. `closed` is aborted when it has ended. */
  hold(connection: object, token: VerifiedToken, end: (why: DomainError) => void, closed: AbortSignal): void {
    if (closed.aborted) return;
    const leases = this.#leases.get(connection) ?? new Map<string, Lease>();
    this.#leases.set(connection, leases);
    const name = leaseName(token);
    const lease: Lease = leases.get(name) ?? { tokens: new Map(), streams: 0 };
    leases.set(name, lease);
    lease.streams++;
    keep(lease, token);
    const held: Held = { lease, role: token.claims.role, end };
    this.#held.add(held);
    const release = () => {
      this.#held.delete(held);
      if (--lease.streams === 0) leases.delete(name);
    };
    closed.addEventListener("abort", release, { once: true });
    if (token.claims.expiresAt < this.#nextLook) this.reconsider();
  }

  /** Checks all streams again, because the keys in use have changed. */
  reconsider(): void {
    this.#wake.abort();
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#wake = new AbortController();
      const now = this.#clock.now();
      this.#nextLook = this.#endOverdue(now, now + LOOK_AT_LEAST_EVERY_MS);
      const wake = AbortSignal.any([signal, this.#wake.signal]);
      await this.#clock.sleep(Math.max(1, this.#nextLook - now), wake).catch(() => {});
    }
  }

  /** Ends the streams that are due. Returns the time at which the next one is due, or `latest` if that is earlier. */
  #endOverdue(now: number, latest: number): number {
    let next = latest;
    for (const held of [...this.#held]) {
      const until = this.#untilOf(held);
      if (until > now) next = Math.min(next, until);
      else {
        this.#held.delete(held);
        held.end(tokenError("expired", "the token has expired, and no newer one was sent over this connection"));
      }
    }
    return next;
  }

  #untilOf({ lease, role }: Held): number {
    let until = Number.NEGATIVE_INFINITY;
    for (const token of lease.tokens.values()) {
      const counts = includes(token.claims.role, role) && this.#holds(token);
      if (counts) until = Math.max(until, token.claims.expiresAt);
    }
    return until;
  }
}

function keep({ tokens }: Lease, token: VerifiedToken): void {
  const { role, expiresAt } = token.claims;
  const before = tokens.get(role);
  if (before === undefined || before.claims.expiresAt <= expiresAt) tokens.set(role, token);
}

/** Tokens of one issuer, subject and project have the same name: one may replace the other on a connection. */
export function leaseName({ claims: { issuer, subject, project } }: VerifiedToken): string {
  return JSON.stringify([issuer, subject, project]);
}
