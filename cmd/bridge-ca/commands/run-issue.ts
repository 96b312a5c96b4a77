import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { printable } from "../../../internal/base/printable-text.ts";
import { factsOf } from "../../../internal/pki/certificate-facts.ts";
import { nameText } from "../../../internal/pki/der/general-names.ts";
import type { KeyType } from "../../../internal/pki/key-pair.ts";
import { newKeyPair, privateKeyPem } from "../../../internal/pki/key-pair.ts";
import type { LeafOptions } from "../../../internal/pki/leaf.ts";
import { newLeaf } from "../../../internal/pki/leaf.ts";
import { recordIssued, statePlace } from "../ca/ca-record.ts";
import { checkNotCaFiles } from "../ca/check-not-ca-files.ts";
import type { CaContext } from "../ca/context.ts";
import type { CaWithKey } from "../ca/open-ca.ts";
import { openCa } from "../ca/open-ca.ts";
import { endText } from "../ca/words.ts";
import { checkAbsent } from "../files/check-absent.ts";
import { readFile } from "../files/read-files.ts";
import { locationOf, privateFile, publicFile, takeFolders, writeFiles } from "../files/write-files.ts";

export interface IssueOptions extends CaWithKey {
  readonly leaf: Omit<LeafOptions, "now">;
  readonly keyType: KeyType;
  readonly out: string;
  readonly force: boolean;
}

interface LeafFiles {
  readonly folder: string;
  readonly cert: string;
  readonly key: string;
  /** The path for a copy of the CA's certificate. */
  readonly ca?: string;
}

/** Makes a key and a certificate for a server, a client or a session's sidecar. */
export async function runIssue(context: CaContext, options: IssueOptions): Promise<number> {
  const { leaf, keyType, force } = options;
  const { clock, out } = context;
  const files = leafFiles(options.out);
  const names = [files.key, ...(files.ca ? [files.ca] : []), files.cert];
  checkNotCaFiles(options, [join(files.folder, files.key), join(files.folder, files.cert)]);
  if (!force) await checkAbsent(context, files.folder, names, "has-force");
  const signer = await openCa(context, options);
  const keys = await newKeyPair(keyType);
  const pem = newLeaf({ ...leaf, now: clock.now() }, keys.publicKey, signer);
  const certificate = new X509Certificate(pem);
  const set = [
    privateFile(files.key, privateKeyPem(keys.privateKey)),
    ...(files.ca ? [publicFile(files.ca, readFile(options.ca).text)] : []),
    publicFile(files.cert, pem),
  ];
  {
    await using _taken = await takeFolders(context, [statePlace(options.caKey).folder, files.folder]);
    recordIssued(context, options.caKey, certificate, leaf);
    writeFiles(context, files.folder, set, force ? "replace" : "create");
  }
  const own = factsOf(certificate).names.map(nameText).join(", ");
  out.line(printable`${join(files.folder, files.cert)}  ${leaf.type} ${own}, ${endText(certificate, clock.now())}`);
  out.line(printable`${join(files.folder, files.key)}  its key`);
  if (files.ca) out.line(printable`${join(files.folder, files.ca)}  the CA`);
  return 0;
}

/** The file names for `out`: a folder with the names that `--tls-dir` of gt and gt-sidecar expects, or a prefix. */
function leafFiles(out: string): LeafFiles {
  if (out.endsWith("/")) return { folder: out, cert: "tls.crt", key: "tls.key", ca: "ca.crt" };
  const { folder, name } = locationOf(out);
  return { folder, cert: `${name}.crt`, key: `${name}.key` };
}
