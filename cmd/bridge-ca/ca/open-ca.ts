import { DomainError } from "../../../internal/base/errors.ts";
import { checkSigner } from "../../../internal/pki/authority.ts";
import { isEncryptedKey, openKey } from "../../../internal/pki/ca-key.ts";
import type { Signer } from "../../../internal/pki/certify.ts";
import { readCertificate, readFile } from "../files/read-files.ts";
import type { CaContext } from "./context.ts";
import { type PassphraseSource, readPassphrase } from "./passphrase.ts";

/** The files of a CA. */
export interface CaFiles {
  readonly ca: string;
  readonly caKey: string;
}

/** A CA that signs. */
export interface CaWithKey extends CaFiles {
  readonly passphrase: PassphraseSource;
}

/**
 * A CA that can sign: its certificate and its key, opened with the passphrase.
 * @throws DomainError `precondition` for a key that others can read; `unauthenticated` without the right passphrase;
 *   `denied` when the two do not belong together or are too weak
 */
export async function openCa(context: CaContext, { ca, caKey, passphrase }: CaWithKey): Promise<Signer> {
  const certificate = readCertificate(ca);
  const { text, mode } = readFile(caKey);
  if ((mode & 0o077) !== 0) {
    throw new DomainError(
      "precondition",
      `others can read or write ${caKey} (mode ${mode.toString(8).padStart(4, "0")})`,
      {
        fields: { hint: `chmod 600 ${shellWord(caKey)}; if others may have read it, replace the CA (docs/trust.md)` },
      },
    );
  }
  const isEncrypted = isEncryptedKey(text);
  if (!isEncrypted) context.err.plain(`bridge-ca: warning: ${caKey} is not encrypted\n`);
  const words = isEncrypted ? await readPassphrase(context, passphrase, { name: caKey, twice: false }) : undefined;
  const signer = { certificate, key: openKey(text, caKey, words) };
  checkSigner(signer, context.clock.now(), ca);
  return signer;
}

function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
