import { DomainError } from "../../../internal/base/errors.ts";
import { printable } from "../../../internal/base/printable-text.ts";
import { isIssuedBy } from "../../../internal/pki/authority.ts";
import type { RevocationReason } from "../../../internal/pki/sign-revocation-list.ts";
import { readState, statePlace, writeState } from "../ca/ca-record.ts";
import type { CaContext } from "../ca/context.ts";
import type { CaFiles } from "../ca/open-ca.ts";
import { quotedName } from "../ca/words.ts";
import { readCertificate, readCertificates, readFile } from "../files/read-files.ts";
import { takeFolders } from "../files/write-files.ts";

export interface RevokeOptions extends CaFiles {
  readonly cert: string;
  readonly reason: RevocationReason;
}

/** Records a certificate as revoked; the CA's next revocation list names it. */
export async function runRevoke(context: CaContext, options: RevokeOptions): Promise<number> {
  const { cert, ca, caKey, reason } = options;
  const { out, clock } = context;
  const [certificate] = readCertificates(cert);
  const authority = readCertificate(ca);
  readFile(caKey); // fails without the key, beside which the state file is: a copy of ca.crt alone is not enough
  if (!isIssuedBy(certificate, authority)) {
    throw new DomainError("denied", `${cert} was not issued by ${ca}: only the CA that issued it can revoke it`, {
      fields: { hint: "name that CA with --ca FILE" },
    });
  }
  const serial = certificate.serialNumber;
  {
    await using _taken = await takeFolders(context, [statePlace(caKey).folder]);
    const state = readState(caKey);
    if (state.revoked.some((entry) => entry.serial === serial)) {
      out.plain(`${cert}  was already revoked: ${quotedName(certificate)}, serial ${serial}\n`);
      return 0;
    }
    const entry = { serial, at: clock.now(), reason, notAfter: certificate.validToDate.getTime() };
    writeState(context, caKey, { ...state, revoked: [...state.revoked, entry] });
  }
  out.plain(`${cert}  revoked: ${quotedName(certificate)}, serial ${serial}\n`);
  context.err.line(
    printable`bridge-ca: hint: the revocation takes effect with the next list: bridge-ca crl --out FILE`,
  );
  return 0;
}
