import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { DomainError } from "../../../internal/base/errors.ts";
import { printable } from "../../../internal/base/printable-text.ts";
import { newAuthority } from "../../../internal/pki/authority.ts";
import { encryptedKeyPem } from "../../../internal/pki/ca-key.ts";
import { NEW_CA_STATE, stateText } from "../../../internal/pki/ca-state.ts";
import type { KeyType } from "../../../internal/pki/key-pair.ts";
import { newKeyPair } from "../../../internal/pki/key-pair.ts";
import { isTrustDomain } from "../../../internal/pki/trust-domain.ts";
import type { CaContext } from "../ca/context.ts";
import type { PassphraseSource } from "../ca/passphrase.ts";
import { readPassphrase } from "../ca/passphrase.ts";
import { endText } from "../ca/words.ts";
import { checkAbsent } from "../files/check-absent.ts";
import { privateFile, publicFile, takeFolders, writeFiles } from "../files/write-files.ts";

export interface InitOptions {
  readonly name: string;
  readonly out: string;
  readonly trustDomain: string | undefined;
  readonly keyType: KeyType;
  readonly days: number;
  readonly passphrase: PassphraseSource;
}

const NAMES = { cert: "ca.crt", key: "ca.key", state: "ca.state.json" } as const;
const MAX_NAME = 64;

/** Makes a CA: its certificate, its key encrypted with a passphrase, and its state file. */
export async function runInit(context: CaContext, options: InitOptions): Promise<number> {
  const { name, out, keyType, days } = options;
  const { clock } = context;
  if ([...name].length > MAX_NAME || /[\x00-\x1f\x7f]/.test(name)) {
    throw new DomainError("invalid", `--name takes up to ${MAX_NAME} characters, without control characters`);
  }
  await checkAbsent(context, out, Object.values(NAMES), "no-force");
  const keyName = join(out, NAMES.key);
  const passphrase = await readPassphrase(context, options.passphrase, { name: keyName, twice: true });
  const keys = await newKeyPair(keyType);
  const key = await encryptedKeyPem(keys.privateKey, passphrase);
  const trustDomain = options.trustDomain ?? (isTrustDomain(name) ? name : undefined);
  const pem = newAuthority(keys, { name, trustDomain, days, now: clock.now() });
  {
    await using _taken = await takeFolders(context, [out]);
    const files = [
      privateFile(NAMES.key, key),
      privateFile(NAMES.state, stateText(NEW_CA_STATE)),
      publicFile(NAMES.cert, pem),
    ];
    writeFiles(context, out, files, "create");
  }
  const domain = trustDomain === undefined ? "no trust domain" : `trust domain ${trustDomain}`;
  context.out.line(
    printable`${join(out, NAMES.cert)}  CA ${JSON.stringify(name)}, ${domain}, ${endText(new X509Certificate(pem), clock.now())}`,
  );
  context.out.line(printable`${keyName}  its key, encrypted`);
  context.out.line(
    printable`${join(out, NAMES.state)}  the record of issued and revoked certificates: keep it with the key`,
  );
  return 0;
}
