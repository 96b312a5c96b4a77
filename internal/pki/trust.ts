import type { X509Certificate } from "node:crypto";
import { certificatesOf } from "./pem.ts";
import { type RevocationList, revocationListsOf } from "./revocation-list.ts";

/** Longer chains are loops. */
const MAX_CHAIN = 8;
/** CAs that sign each other have many chains; no honest bundle has more. */
const MAX_CHAINS = 32;

/** What a certificate is worth now. */
export type Standing = "good" | "expired" | "not-yet-valid" | "untrusted" | "revoked" | "no-list";

/**
 * What a CA without a current revocation list means. `if-present`: it has revoked nothing, and a list that was current
 * when it was taken stays in force until it is replaced. `require`: none of its certificates counts.
 */
export type CrlPolicy = "require" | "if-present";

type Chain = readonly X509Certificate[];

export interface TrustOptions {
  /** The policy of each CA. Default: `if-present` for all. */
  readonly crlPolicyOf?: (issuer: X509Certificate) => CrlPolicy;
}

/**
 * The CAs that certificates must lead to, and the revocation lists that go with them. A chain ends at a CA that is
 * trusted and whose own issuer is not: the end or the revocation of a cross-signature ends every certificate below it.
 * A certificate with several chains is good when one of them is.
 */
export class Trust {
  readonly #cas: readonly X509Certificate[];
  readonly #lists: readonly RevocationList[];
  readonly #crlPolicyOf: (issuer: X509Certificate) => CrlPolicy;
  /** Chains that were followed: looking at a connection again costs no signature check. */
  readonly #chains = new WeakMap<X509Certificate, readonly Chain[]>();
  /** The trusted CAs that have signed a trusted CA. */
  readonly #above = new Map<X509Certificate, readonly X509Certificate[]>();
  readonly #listsOf = new Map<X509Certificate, readonly RevocationList[]>();

  constructor(
    cas: readonly X509Certificate[],
    lists: readonly RevocationList[] = [],
    { crlPolicyOf = () => "if-present" }: TrustOptions = {},
  ) {
    this.#cas = cas;
    this.#lists = lists;
    this.#crlPolicyOf = crlPolicyOf;
  }

  /** The CAs that are trusted, those included that are trusted through another. */
  get cas(): readonly X509Certificate[] {
    return this.#cas;
  }

  /**
   * @param others certificates that came with `leaf` and may be between it and a CA
   * @param now wall clock, ms
   */
  standing(leaf: X509Certificate, now: number, others: readonly X509Certificate[] = []): Standing {
    const standings = this.#chainsOf(leaf, others).map((chain) => this.#standingOf(chain, now));
    if (standings.length === 0) return "untrusted";
    return WORST_LAST.find((standing) => standings.includes(standing)) ?? "untrusted";
  }

  /**
   * When the last chain ends that is left, wall clock, ms: each with its first certificate. -Infinity without a chain.
   */
  notAfter(leaf: X509Certificate, others: readonly X509Certificate[] = []): number {
    const ends = this.#chainsOf(leaf, others).map((chain) => Math.min(...chain.map(endOf)));
    return Math.max(Number.NEGATIVE_INFINITY, ...ends);
  }

  /** A certificate and the CAs above it, by a chain that is good now; undefined without one. */
  chainOf(leaf: X509Certificate, now: number, others: readonly X509Certificate[] = []): Chain | undefined {
    return this.#chainsOf(leaf, others).find((chain) => this.#standingOf(chain, now) === "good");
  }

  /** The CA that has signed a certificate: of several certificates of that CA the one whose chain is good now. */
  issuerOf(leaf: X509Certificate, now: number): X509Certificate | undefined {
    return this.chainOf(leaf, now)?.[1];
  }

  #standingOf(chain: Chain, now: number): Standing {
    if (chain.some((certificate) => endOf(certificate) <= now)) return "expired";
    if (chain.some((certificate) => certificate.validFromDate.getTime() > now)) return "not-yet-valid";
    const states = chain.slice(1).map((issuer, i) => this.#revocation(chain[i] as X509Certificate, issuer, now));
    return states.find((state) => state === "revoked") ?? states.find((state) => state === "no-list") ?? "good";
  }

  #chainsOf(leaf: X509Certificate, others: readonly X509Certificate[]): readonly Chain[] {
    let chains = this.#chains.get(leaf);
    if (chains === undefined) {
      const found: Chain[] = [];
      this.#follow([leaf], others, found);
      this.#chains.set(leaf, found);
      chains = found;
    }
    return chains;
  }

  /** Adds every chain that begins with `chain` to `found`. */
  #follow(chain: Chain, others: readonly X509Certificate[], found: Chain[]): void {
    const last = chain[chain.length - 1] as X509Certificate;
    const isTrusted = chain.length > 1 && this.#cas.includes(last);
    const issuers = isTrusted ? this.#issuersOf(last) : [...this.#cas, ...others].filter((ca) => isIssuedBy(last, ca));
    const next = issuers.filter((issuer) => !chain.includes(issuer));
    if (isTrusted && next.length === 0) found.push(chain);
    if (chain.length >= MAX_CHAIN) return;
    for (const issuer of next) if (found.length < MAX_CHAINS) this.#follow([...chain, issuer], others, found);
  }

  #issuersOf(ca: X509Certificate): readonly X509Certificate[] {
    let above = this.#above.get(ca);
    if (above === undefined) {
      above = isIssuedBy(ca, ca) ? [] : this.#cas.filter((other) => isIssuedBy(ca, other));
      this.#above.set(ca, above);
    }
    return above;
  }

  #revocation(certificate: X509Certificate, issuer: X509Certificate, now: number): "revoked" | "no-list" | "good" {
    let lists = this.#listsOf.get(issuer);
    if (lists === undefined) {
      lists = this.#lists.filter((list) => list.isSignedBy(issuer));
      this.#listsOf.set(issuer, lists);
    }
    if (lists.some((list) => list.names(certificate))) return "revoked";
    if (this.#crlPolicyOf(issuer) === "if-present") return "good";
    return lists.some(({ nextUpdate }) => nextUpdate === undefined || nextUpdate > now) ? "good" : "no-list";
  }
}

/** Which of the standings of several chains counts. */
const WORST_LAST: readonly Standing[] = ["good", "revoked", "no-list", "expired", "not-yet-valid"];

function endOf(certificate: X509Certificate): number {
  return certificate.validToDate.getTime();
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

/**
 * What a client asks of a server's certificate beside the handshake: whether a revocation list of its CA names it. A CA
 * without a list has revoked nothing; one that is out of date still counts.
 *
 * @param crl one file, or several of which each has a list
 * @param now wall clock, ms
 * @throws DomainError `invalid` for a list or a CA that cannot be read
 */
export function serverRevocation(
  ca: string,
  crl: string | readonly string[],
  now: () => number,
): (server: X509Certificate, chain: readonly X509Certificate[]) => Error | undefined {
  const trust = new Trust(certificatesOf(ca), [crl].flat().flatMap(revocationListsOf));
  return (server, chain) => {
    if (trust.standing(server, now(), chain) !== "revoked") return undefined;
    return Object.assign(new Error("the server's certificate is revoked"), { code: "CERT_REVOKED" });
  };
}
