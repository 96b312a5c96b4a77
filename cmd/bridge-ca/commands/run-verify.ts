import type { X509Certificate } from "node:crypto";
import { DomainError } from "../../../internal/base/errors.ts";
import { factsOf } from "../../../internal/pki/certificate-facts.ts";
import { nameText } from "../../../internal/pki/der/general-names.ts";
import type { Usage } from "../../../internal/pki/judge-chain.ts";
import { usagesOf } from "../../../internal/pki/judge-chain.ts";
import type { RevocationList } from "../../../internal/pki/revocation-list.ts";
import { verifyCertificate } from "../../../internal/pki/verify-certificate.ts";
import type { CaContext } from "../ca/context.ts";
import { endText, quotedName } from "../ca/words.ts";
import { readCertificates, readLists } from "../files/read-files.ts";

export interface VerifyOptions {
  readonly cert: string;
  readonly bundle: string;
  readonly lists: readonly string[];
  readonly usage: Usage | undefined;
}

/** Prints whether a certificate chains to a CA of a bundle, and if not, which link fails and why. */
export async function runVerify({ out, clock }: CaContext, options: VerifyOptions): Promise<number> {
  const now = clock.now();
  const [leaf, ...others] = readCertificates(options.cert);
  const bundle = readCertificates(options.bundle);
  const lists = options.lists.flatMap((path) => currentLists(path, now));
  const verdict = verifyCertificate(leaf, bundle, others, { usage: options.usage, now, lists });
  if (verdict.type === "bad") {
    throw new DomainError(
      "denied",
      `${options.cert} is not trusted: ${quotedName(verdict.certificate)} ${verdict.why}`,
      {
        fields: { hint: `chain: ${verdict.chain.map(quotedName).join(" ← ")}` },
      },
    );
  }
  const [, issuer] = verdict.chain;
  if (lists.length > 0 && issuer !== undefined && !lists.some((list) => list.isSignedBy(issuer))) {
    throw new DomainError(
      "denied",
      `${options.cert} cannot be checked: no given list was issued by ${quotedName(issuer)}`,
    );
  }
  const uses = usagesOf(leaf).map((usage) => `${usage}s`);
  const purpose = uses.length === 0 ? "" : ` for ${uses.join(" and ")}`;
  out.plain(`${options.cert}: good${purpose}, ${endText(leaf, now)}\n`);
  for (const [link, certificate] of verdict.chain.entries()) out.plain(chainLine(certificate, link));
  return 0;
}

function chainLine(certificate: X509Certificate, link: number): string {
  const names = factsOf(certificate).names.map(nameText).join(", ");
  const indent = link === 0 ? "" : `${"  ".repeat(link - 1)}└ `;
  return `  ${indent}${quotedName(certificate)}${names === "" ? "" : ` (${names})`}\n`;
}

function currentLists(path: string, now: number): readonly RevocationList[] {
  const lists = readLists(path);
  for (const { thisUpdate, nextUpdate } of lists) {
    const why =
      thisUpdate > now ? "is not valid yet" : nextUpdate !== undefined && nextUpdate <= now ? "is out of date" : "";
    if (why !== "") throw new DomainError("denied", `the revocation list ${path} ${why}`);
  }
  return lists;
}
