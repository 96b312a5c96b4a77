import type { X509Certificate } from "node:crypto";
import type { RevocationList } from "./revocation-list.ts";

/** Longer chains are somebody's loop. */
const MAX_CHAIN = 8;

/** What a certificate is worth now. */
export type Standing = "good" | "expired" | "not-yet-valid" | "untrusted" | "revoked";

/**
 * The CAs that certificates must lead to, and the revocation lists that go with them. Revocation is `if-present`: a
 * certificate is revoked when a list of its issuer names it; an issuer without a list has revoked nothing. A list that
 * was current when it was taken stays in force until it is replaced.
 */
export class Trust {
  readonly #cas: readonly X509Certificate[];
  readonly #lists: readonly RevocationList[];
  /** Chains that were followed: looking at a connection again costs no signature check. */
  readonly #chains = new WeakMap<X509Certificate, readonly X509Certificate[] | undefined>();
  readonly #listsOf = new Map<string, readonly RevocationList[]>();

  constructor(cas: readonly X509Certificate[], lists: readonly RevocationList[] = []) {
    this.#cas = cas;
    this.#lists = lists;
  }

  /**
   * @param others certificates that came with `leaf` and may stand between it and a CA
   * @param now wall clock, ms
   */
  standing(leaf: X509Certificate, now: number, others: readonly X509Certificate[] = []): Standing {
    const chain = this.#chainOf(leaf, others);
    if (chain === undefined) return "untrusted";
    if (chain.some((certificate) => certificate.validToDate.getTime() <= now)) return "expired";
    if (chain.some((certificate) => certificate.validFromDate.getTime() > now)) return "not-yet-valid";
    const revoked = chain.slice(1).some((issuer, i) => this.#isRevoked(chain[i] as X509Certificate, issuer));
    return revoked ? "revoked" : "good";
  }

  /** When the first certificate of the chain ends, wall clock, ms; -Infinity without a chain. */
  notAfter(leaf: X509Certificate, others: readonly X509Certificate[] = []): number {
    const chain = this.#chainOf(leaf, others);
    if (chain === undefined) return Number.NEGATIVE_INFINITY;
    return Math.min(...chain.map((certificate) => certificate.validToDate.getTime()));
  }

  #chainOf(leaf: X509Certificate, others: readonly X509Certificate[]): readonly X509Certificate[] | undefined {
    if (!this.#chains.has(leaf)) this.#chains.set(leaf, this.#follow(leaf, others));
    return this.#chains.get(leaf);
  }

  /** From the leaf to the first CA that is trusted. */
  #follow(leaf: X509Certificate, others: readonly X509Certificate[]): readonly X509Certificate[] | undefined {
    const chain = [leaf];
    for (let last = leaf; chain.length < MAX_CHAIN; ) {
      const root = this.#cas.find((ca) => isIssuedBy(last, ca));
      if (root) return [...chain, root];
      const next = others.find((other) => !chain.includes(other) && isIssuedBy(last, other));
      if (next === undefined) return undefined;
      chain.push(next);
      last = next;
    }
    return undefined;
  }

  #isRevoked(certificate: X509Certificate, issuer: X509Certificate): boolean {
    let lists = this.#listsOf.get(issuer.fingerprint256);
    if (lists === undefined) {
      lists = this.#lists.filter((list) => list.isSignedBy(issuer));
      this.#listsOf.set(issuer.fingerprint256, lists);
    }
    return lists.some((list) => list.names(certificate));
  }
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}
