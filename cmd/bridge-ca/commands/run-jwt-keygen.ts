import { join } from "node:path";
import { printable } from "../../../internal/base/printable-text.ts";
import { newTokenKeyPair, privateKeyPem, publicKeyPem } from "../../../internal/pki/key-pair.ts";
import type { CaContext } from "../ca/context.ts";
import { checkAbsent } from "../files/check-absent.ts";
import { locationOf, privateFile, publicFile, takeFolders, writeFiles } from "../files/write-files.ts";

export interface JwtKeygenOptions {
  readonly out: string;
}

/** Makes an Ed25519 key pair for signing tokens. */
export async function runJwtKeygen(context: CaContext, options: JwtKeygenOptions): Promise<number> {
  const { folder, name } = locationOf(options.out);
  const [key, pub] = [`${name}.key`, `${name}.pub`];
  await checkAbsent(context, folder, [key, pub], "no-force");
  const keys = await newTokenKeyPair();
  {
    await using _taken = await takeFolders(context, [folder]);
    const files = [privateFile(key, privateKeyPem(keys.privateKey)), publicFile(pub, publicKeyPem(keys.publicKey))];
    writeFiles(context, folder, files, "create");
  }
  context.out.line(printable`${join(folder, key)}  signs tokens: keep it with the caller`);
  context.out.line(printable`${join(folder, pub)}  verifies tokens: give it to the bridge`);
  return 0;
}
