import { rm } from "node:fs/promises";
import { join } from "node:path";
import { replaceSecret } from "../../internal/files/replace-secret.ts";
import { makeTemporaryFolder } from "../../internal/files/temporary-folder.ts";
import type { TlsFiles } from "../../internal/pki/tls-files.ts";

/** A private folder with the certificate of our own port, in the layout that the server expects. Removed at the end. */
export class ServerTlsFolder implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<ServerTlsFolder> {
    return new ServerTlsFolder(await makeTemporaryFolder("gt-controller-")); // mode 0700
  }

  /** Replaces one file after another; a reader in between finds a set that does not match and reads again. */
  async write({ cert, key, ca, crl }: TlsFiles): Promise<void> {
    const files = { "tls.key": key, "tls.crt": cert, "ca.crt": ca, ...(crl !== undefined && { "crl.pem": crl }) };
    for (const [name, text] of Object.entries(files)) replaceSecret(join(this.path, name), text);
    if (crl === undefined) await rm(join(this.path, "crl.pem"), { force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}
