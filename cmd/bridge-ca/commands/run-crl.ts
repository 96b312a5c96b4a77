import type { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { DomainError } from "../../../internal/base/errors.ts";
import { printable } from "../../../internal/base/printable-text.ts";
import { maySign } from "../../../internal/pki/authority.ts";
import { nextCrlNumber } from "../../../internal/pki/ca-state.ts";
import { factsOf } from "../../../internal/pki/certificate-facts.ts";
import { BACKDATE_MS } from "../../../internal/pki/certify.ts";
import type { RevocationList } from "../../../internal/pki/revocation-list.ts";
import { signRevocationList } from "../../../internal/pki/sign-revocation-list.ts";
import { readState, statePlace, writeState } from "../ca/ca-record.ts";
import { checkNotCaFiles } from "../ca/check-not-ca-files.ts";
import type { CaContext } from "../ca/context.ts";
import type { CaWithKey } from "../ca/open-ca.ts";
import { openCa } from "../ca/open-ca.ts";
import { dayText } from "../ca/words.ts";
import { pathExists } from "../files/file-errors.ts";
import { readCertificate, readLists } from "../files/read-files.ts";
import { locationOf, publicFile, takeFolders, writeFiles } from "../files/write-files.ts";

export interface CrlOptions extends CaWithKey {
  readonly out: string;
  readonly days: number;
  readonly force: boolean;
}

const DAY_MS = 86_400_000;

/** Writes the CA's revocation list. A list that the CA wrote before is replaced. */
export async function runCrl(context: CaContext, options: CrlOptions): Promise<number> {
  const { clock, out } = context;
  const { folder, name } = locationOf(options.out);
  checkNotCaFiles(options, [options.out]);
  const earlier = earlierList(options, readCertificate(options.ca));
  const signer = await openCa(context, options);
  if (!maySign(factsOf(signer.certificate).keyUsage, "crlSign")) {
    throw new DomainError("denied", `${options.ca} may not sign revocation lists (key usage)`);
  }
  const now = clock.now();
  const nextUpdate = Math.min(now + options.days * DAY_MS, signer.certificate.validToDate.getTime());
  let count = 0;
  {
    await using _taken = await takeFolders(context, [statePlace(options.caKey).folder, folder]);
    const state = readState(options.caKey);
    checkNotForgotten(options, earlier);
    const number = nextCrlNumber(state, now);
    writeState(context, options.caKey, { ...state, crlNumber: number });
    const { revoked } = readState(options.caKey);
    const pem = signRevocationList({ number, thisUpdate: now - BACKDATE_MS, nextUpdate, revoked }, signer);
    writeFiles(context, folder, [publicFile(name, pem)], "replace");
    count = revoked.length;
  }
  const what = count === 0 ? "nothing is revoked" : `${count} ${count === 1 ? "certificate" : "certificates"} revoked`;
  out.line(printable`${options.out}  ${what}; write the next list before ${dayText(new Date(nextUpdate))}`);
  return 0;
}

/** The CA's list at the output path, which may be replaced. Any other file there is replaced only with `force`. */
function earlierList({ out, force, ca }: CrlOptions, authority: X509Certificate): RevocationList | undefined {
  if (!pathExists(out)) return undefined;
  try {
    const [list, another] = readLists(out);
    if (list !== undefined && another === undefined && list.isSignedBy(authority)) return list;
  } catch (err) {
    if (!(err instanceof DomainError && err.kind === "invalid")) throw err;
  }
  if (force) return undefined;
  throw new DomainError("already-exists", `${out} already exists, and is not the revocation list of ${ca}`, {
    fields: { hint: "--force replaces it" },
  });
}

/** Without its state file the CA would write an empty list, and revoked certificates would be valid again. */
function checkNotForgotten({ caKey, out }: CrlOptions, earlier: RevocationList | undefined): void {
  const { folder, name } = statePlace(caKey);
  const path = join(folder, name);
  if (earlier === undefined || earlier.size === 0 || pathExists(path)) return;
  throw new DomainError("not-found", `${path} is missing, and ${out} lists ${earlier.size} revoked certificates`, {
    fields: { hint: "restore it from a copy, or revoke those certificates again; then remove the old list" },
  });
}
