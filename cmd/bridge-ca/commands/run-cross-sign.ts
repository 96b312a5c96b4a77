import { X509Certificate } from "node:crypto";
import { factsOf } from "../../../internal/pki/certificate-facts.ts";
import type { CrossSignatureOptions } from "../../../internal/pki/cross-signature.ts";
import { crossSign as crossSignature } from "../../../internal/pki/cross-signature.ts";
import { nameText } from "../../../internal/pki/der/general-names.ts";
import { NO_NAME } from "../../../internal/pki/name-constraints.ts";
import { recordIssued, statePlace } from "../ca/ca-record.ts";
import { checkNotCaFiles } from "../ca/check-not-ca-files.ts";
import type { CaContext } from "../ca/context.ts";
import type { CaWithKey } from "../ca/open-ca.ts";
import { openCa } from "../ca/open-ca.ts";
import { endText, quotedName } from "../ca/words.ts";
import { checkAbsent } from "../files/check-absent.ts";
import { readCertificate } from "../files/read-files.ts";
import { locationOf, publicFile, takeFolders, writeFiles } from "../files/write-files.ts";

export interface CrossSignOptions extends CaWithKey {
  readonly target: string;
  readonly limits: Omit<CrossSignatureOptions, "now">;
  readonly out: string;
  readonly force: boolean;
}

/** Certifies another CA, within limits. */
export async function runCrossSign(context: CaContext, options: CrossSignOptions): Promise<number> {
  const { limits, force } = options;
  const { clock, out } = context;
  const { folder, name } = locationOf(options.out);
  checkNotCaFiles(options, [options.out]);
  if (!force) await checkAbsent(context, folder, [name], "has-force");
  const target = readCertificate(options.target);
  const signer = await openCa(context, options);
  const pem = crossSignature(target, signer, { ...limits, now: clock.now() });
  const certificate = new X509Certificate(pem);
  {
    await using _taken = await takeFolders(context, [statePlace(options.caKey).folder, folder]);
    const entry = { name: factsOf(certificate).commonName ?? "", type: "cross-signed" } as const;
    recordIssued(context, options.caKey, certificate, entry);
    writeFiles(context, folder, [publicFile(name, pem)], force ? "replace" : "create");
  }
  out.plain(`${options.out}  CA ${quotedName(certificate)}, ${endText(certificate, clock.now())}\n`);
  out.plain(`  ${limitsText(certificate, limits.usage)}\n`);
  return 0;
}

function limitsText(certificate: X509Certificate, usage: "client" | "server"): string {
  const permitted = factsOf(certificate).constraints?.permitted ?? [];
  const names = (types: readonly string[]) =>
    permitted.filter((name) => types.includes(name.type) && nameText(name) !== NO_NAME).map(nameText);
  const [domain] = names(["uri"]);
  if (usage === "server") return `for servers only: it can certify ${names(["dns", "ip"]).join(", ")} and no CAs`;
  const ids = domain === undefined ? "without ids (the CA has no trust domain)" : `with ids below spiffe://${domain}/`;
  return `for clients only: it can certify clients ${ids}, no servers and no CAs`;
}
