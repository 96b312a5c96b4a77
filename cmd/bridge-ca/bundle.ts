import { printable } from "../../internal/base/printable-text.ts";
import { pemText } from "../../internal/pki/der/der-writer.ts";
import { type NamedCertificate, trustBundle } from "../../internal/pki/trust-bundle.ts";
import type { BundleCommand } from "./commands.ts";
import type { CommandContext } from "./context.ts";
import { checkAbsent } from "./files/check-absent.ts";
import { readCertificate, readCertificates } from "./files/read-files.ts";
import { placeOf, publicFile, takeFolders, writeFiles } from "./files/write-files.ts";
import { checkSparesCa } from "./spare-ca.ts";
import { endText, quotedName } from "./words.ts";

/** Writes the CAs that certificates may lead to: the own one, and those that it cross-signed. */
export async function bundle(context: CommandContext, command: BundleCommand): Promise<number> {
  const { out, clock } = context;
  const { folder, name } = placeOf(command.out);
  checkSparesCa(command, [command.out]);
  if (!command.force) await checkAbsent(context, folder, [name], "has-force");
  const single = (file: string): NamedCertificate => ({ file, certificate: readCertificate(file) });
  const crossSigned = command.crossSigned.flatMap((file) =>
    readCertificates(file).map((certificate) => ({ file, certificate })),
  );
  const all = trustBundle(single(command.ca), command.previous.map(single), crossSigned, clock.now());
  const text = all.map((certificate) => pemText("CERTIFICATE", certificate.raw)).join("");
  {
    await using _taken = await takeFolders(context, [folder]);
    writeFiles(context, folder, [publicFile(name, text)], command.force ? "replace" : "create");
  }
  out.line(printable`${command.out}  ${all.length} ${all.length === 1 ? "CA" : "CAs"}`);
  for (const certificate of all) out.plain(`  ${quotedName(certificate)}, ${endText(certificate, clock.now())}\n`);
  return 0;
}
