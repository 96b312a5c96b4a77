import type { X509Certificate } from "node:crypto";
import { certificatesOf } from "./pem.ts";
import { type RevocationList, revocationListsOf } from "./revocation-list.ts";

/** Chains are not followed beyond this length. */
const MAX_CHAIN = 8;
/** CAs that sign each other form many chains; a bundle made in good faith has fewer than this. */
const MAX_CHAINS = 32;

/** Whether a certificate may be accepted now, or why not. */
export type Standing = "good" | "expired" | "not-yet-valid" | "untrusted" | "revoked" | "no-list";

/**
 * How to treat a CA without a current revocation list. `if-present`: accept its certificates; a list that has expired
 * stays in force until it is replaced. `require`: accept none of its certificates.
 */
export type CrlPolicy = "require" | "if-present";

type Chain = readonly X509Certificate[];

export interface TrustOptions {
  /** The policy of each CA. Default: `if-present` for all. */
  readonly crlPolicyOf?: (issuer: X509Certificate) => CrlPolicy;
}

/**
 * The trusted CAs and their revocation lists. A chain ends at a trusted CA whose own issuer is not trusted, so once a
 * cross-signature expires or is revoked, no certificate below it is good. A certificate with several chains is good if
 * one of them is.
 */
export class Trust {
  readonly #cas: readonly X509Certificate[];
  readonly #lists: readonly RevocationList[];
  readonly #crlPolicyOf: (issuer: X509Certificate) => CrlPolicy;
  /** Chains by leaf, so that judging a connection again verifies no signature. */
  readonly #chains = new WeakMap<X509Certificate, readonly Chain[]>();
  /** For each trusted CA, the trusted CAs that have signed it. */
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

  /** The trusted CAs, including those that another CA of the bundle has signed. */
  get cas(): readonly X509Certificate[] {
    return this.#cas;
  }

  /**
   * @param others certificates that came with `leaf` and may be intermediates
   * @param now wall clock, ms
   */
  standing(leaf: X509Certificate, now: number, others: readonly X509Certificate[] = []): Standing {
    const standings = this.#chainsOf(leaf, others).map((chain) => this.#standingOf(chain, now));
    if (standings.length === 0) return "untrusted";
    return PRECEDENCE.find((standing) => standings.includes(standing)) ?? "untrusted";
  }

  /**
   * When the last of the certificate's chains expires, wall clock, ms; a chain expires with the first of its
   * certificates that does. -Infinity if there is no chain.
   */
  notAfter(leaf: X509Certificate, others: readonly X509Certificate[] = []): number {
    const ends = this.#chainsOf(leaf, others).map((chain) => Math.min(...chain.map(endOf)));
    return Math.max(Number.NEGATIVE_INFINITY, ...ends);
  }

  /** The first chain that is good now, from the certificate to a trusted CA; undefined without one. */
  chainOf(leaf: X509Certificate, now: number, others: readonly X509Certificate[] = []): Chain | undefined {
    return this.#chainsOf(leaf, others).find((chain) => this.#standingOf(chain, now) === "good");
  }

  /** The CA that issued a certificate. If the CA has several certificates, the one in a chain that is good now. */
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

/** If its chains differ in standing, a certificate has the one that comes first here. */
const PRECEDENCE: readonly Standing[] = ["good", "revoked", "no-list", "expired", "not-yet-valid"];

function endOf(certificate: X509Certificate): number {
  return certificate.validToDate.getTime();
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

/**
 * Returns the check that a client makes of a server's certificate in addition to the handshake. The check returns an
 * error if the certificate is revoked. A CA without a list has revoked nothing; an outdated list still counts.
 *
 * @param crl the content of a file with revocation lists, or of several
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
