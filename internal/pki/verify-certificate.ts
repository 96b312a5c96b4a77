import type { X509Certificate } from "node:crypto";
import { isSelfSigned } from "./authority.ts";
import { findChains } from "./find-chains.ts";
import { type ChainRules, judgeChain } from "./judge-chain.ts";

export type ChainVerdict =
  | { readonly type: "good"; readonly chain: readonly X509Certificate[] }
  /**
   * `why` is the predicate of a sentence about `certificate`, the link that fails; `chain` goes as far as it could be
   * built.
   */
  | {
      readonly type: "bad";
      readonly chain: readonly X509Certificate[];
      readonly certificate: X509Certificate;
      readonly why: string;
    };

/**
 * Checks whether a certificate leads to a root of a bundle, and if not, which link fails and why. One good chain of
 * several is enough.
 * @param others certificates that came with `leaf` and may be intermediates
 */
export function verifyCertificate(
  leaf: X509Certificate,
  bundle: readonly X509Certificate[],
  others: readonly X509Certificate[],
  rules: ChainRules,
): ChainVerdict {
  const { chains, deadEnd } = findChains(leaf, bundle, others);
  let first: ChainVerdict | undefined;
  for (const chain of chains) {
    const fault = judgeChain(chain, rules);
    if (fault === undefined) return { type: "good", chain };
    first ??= { type: "bad", chain, certificate: chain[fault.link] ?? leaf, why: fault.why };
  }
  if (first !== undefined) return first;
  const last = deadEnd?.chain.at(-1) ?? leaf;
  const why = isSelfSigned(last)
    ? "signs itself and is not in the bundle"
    : deadEnd?.hasNamesake
      ? "was not signed by the key of the CA of its issuer's name in the bundle"
      : "was signed by a CA that is not in the bundle";
  return { type: "bad", chain: deadEnd?.chain ?? [leaf], certificate: last, why };
}
