import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { printable } from "../../internal/base/printable-text.ts";
import { factsOf } from "../../internal/pki/certificate-facts.ts";
import { nameText } from "../../internal/pki/der/general-names.ts";
import { newKeyPair, privateKeyPem } from "../../internal/pki/key-pair.ts";
import { newLeaf } from "../../internal/pki/leaf.ts";
import { recordIssued, statePlace } from "./ca-record.ts";
import type { IssueCommand } from "./commands.ts";
import type { CommandContext } from "./context.ts";
import { checkAbsent } from "./files/check-absent.ts";
import { readFile } from "./files/read-files.ts";
import { placeOf, privateFile, publicFile, takeFolders, writeFiles } from "./files/write-files.ts";
import { openCa } from "./open-ca.ts";
import { checkSparesCa } from "./spare-ca.ts";
import { endText } from "./words.ts";

interface LeafFiles {
  readonly folder: string;
  readonly cert: string;
  readonly key: string;
  /** The CA's certificate goes with it. */
  readonly ca?: string;
}

/** Makes a key and a certificate for a server, a client or a session's sidecar. */
export async function issue(context: CommandContext, command: IssueCommand): Promise<number> {
  const { leaf, keyType, force } = command;
  const { clock, out } = context;
  const files = leafFiles(command.out);
  const names = [files.key, ...(files.ca ? [files.ca] : []), files.cert];
  checkSparesCa(command, [join(files.folder, files.key), join(files.folder, files.cert)]);
  if (!force) await checkAbsent(context, files.folder, names, "has-force");
  const signer = await openCa(context, command);
  const keys = await newKeyPair(keyType);
  const pem = newLeaf({ ...leaf, now: clock.now() }, keys.publicKey, signer);
  const certificate = new X509Certificate(pem);
  const set = [
    privateFile(files.key, privateKeyPem(keys.privateKey)),
    ...(files.ca ? [publicFile(files.ca, readFile(command.ca).text)] : []),
    publicFile(files.cert, pem),
  ];
  {
    await using _taken = await takeFolders(context, [statePlace(command.caKey).folder, files.folder]);
    recordIssued(context, command.caKey, certificate, leaf);
    writeFiles(context, files.folder, set, force ? "replace" : "create");
  }
  const own = factsOf(certificate).names.map(nameText).join(", ");
  out.line(printable`${join(files.folder, files.cert)}  ${leaf.type} ${own}, ${endText(certificate, clock.now())}`);
  out.line(printable`${join(files.folder, files.key)}  its key`);
  if (files.ca) out.line(printable`${join(files.folder, files.ca)}  the CA`);
  return 0;
}

/** A folder, as `--tls-dir` of gt and gt-sidecar wants it, or a prefix. */
function leafFiles(out: string): LeafFiles {
  if (out.endsWith("/")) return { folder: out, cert: "tls.crt", key: "tls.key", ca: "ca.crt" };
  const { folder, name } = placeOf(out);
  return { folder, cert: `${name}.crt`, key: `${name}.key` };
}
