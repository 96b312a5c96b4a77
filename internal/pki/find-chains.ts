import type { X509Certificate } from "node:crypto";
import { isIssuedBy, isSelfSigned } from "./authority.ts";
import { factsOf } from "./certificate-facts.ts";

/** A longer chain is taken for a loop. */
const MAX_CHAIN = 8;
/** Enough for every chain through a bundle while CAs are being replaced. */
const MAX_CHAINS = 64;

/** A chain whose last certificate has no issuer in the bundle or among `others`. */
interface DeadEnd {
  readonly chain: readonly X509Certificate[];
  /** True: a CA has the issuer's name, but that CA's key did not sign the last certificate. */
  readonly hasNamesake: boolean;
}

export interface FoundChains {
  /** Each from the leaf to a root of the bundle; each certificate is signed by the next. */
  readonly chains: readonly (readonly X509Certificate[])[];
  /** The longest chain that reaches no root. */
  readonly deadEnd: DeadEnd | undefined;
}

/**
 * All chains from a leaf to the self-signed CAs of a bundle. `others` came with the leaf; they may be intermediates,
 * but no roots. Dates, usages and constraints are not checked.
 */
export function findChains(
  leaf: X509Certificate,
  bundle: readonly X509Certificate[],
  others: readonly X509Certificate[] = [],
): FoundChains {
  const chains: (readonly X509Certificate[])[] = [];
  let deadEnd: DeadEnd | undefined;
  const follow = (chain: readonly X509Certificate[]) => {
    const last = chain.at(-1) as X509Certificate;
    const isRoot = bundle.some(({ fingerprint256 }) => fingerprint256 === last.fingerprint256) && isSelfSigned(last);
    if (isRoot) {
      chains.push(chain);
      return;
    }
    const named = [...bundle, ...others].filter((ca) => factsOf(last).issuer.equals(factsOf(ca).subject));
    const issuers = named.filter((ca) => isIssuedBy(last, ca) && !isIn(ca, chain));
    if (issuers.length === 0 && chain.length > (deadEnd?.chain.length ?? 0)) {
      deadEnd = { chain, hasNamesake: named.some((ca) => !isIn(ca, chain)) };
    }
    for (const issuer of issuers) {
      if (chain.length < MAX_CHAIN && chains.length < MAX_CHAINS) follow([...chain, issuer]);
    }
  };
  follow([leaf]);
  return { chains, deadEnd };
}

function isIn(certificate: X509Certificate, chain: readonly X509Certificate[]): boolean {
  return chain.some(({ fingerprint256 }) => fingerprint256 === certificate.fingerprint256);
}
