import { printable } from "../../../internal/base/printable-text.ts";
import { pemText } from "../../../internal/pki/der/der-writer.ts";
import { type NamedCertificate, trustBundle } from "../../../internal/pki/trust-bundle.ts";
import { checkNotCaFiles } from "../ca/check-not-ca-files.ts";
import type { CaContext } from "../ca/context.ts";
import type { CaFiles } from "../ca/open-ca.ts";
import { endText, quotedName } from "../ca/words.ts";
import { checkAbsent } from "../files/check-absent.ts";
import { readCertificate, readCertificates } from "../files/read-files.ts";
import { locationOf, publicFile, takeFolders, writeFiles } from "../files/write-files.ts";

export interface BundleOptions extends CaFiles {
  readonly previous: readonly string[];
  readonly crossSigned: readonly string[];
  readonly out: string;
  readonly force: boolean;
}

/** Writes the bundle of trusted CAs: the own CA and the CAs that it has cross-signed. */
export async function runBundle(context: CaContext, options: BundleOptions): Promise<number> {
  const { out, clock } = context;
  const { folder, name } = locationOf(options.out);
  checkNotCaFiles(options, [options.out]);
  if (!options.force) await checkAbsent(context, folder, [name], "has-force");
  const single = (file: string): NamedCertificate => ({ file, certificate: readCertificate(file) });
  const crossSigned = options.crossSigned.flatMap((file) =>
    readCertificates(file).map((certificate) => ({ file, certificate })),
  );
  const all = trustBundle(single(options.ca), options.previous.map(single), crossSigned, clock.now());
  const text = all.map((certificate) => pemText("CERTIFICATE", certificate.raw)).join("");
  {
    await using _taken = await takeFolders(context, [folder]);
    writeFiles(context, folder, [publicFile(name, text)], options.force ? "replace" : "create");
  }
  out.line(printable`${options.out}  ${all.length} ${all.length === 1 ? "CA" : "CAs"}`);
  for (const certificate of all) out.plain(`  ${quotedName(certificate)}, ${endText(certificate, clock.now())}\n`);
  return 0;
}
