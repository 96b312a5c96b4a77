import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readlink, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TlsFiles } from "../../../internal/pki/tls-files.ts";

/** A folder with TLS files as the kubelet mounts a Secret: a link is swapped to a new version of all files. */
export class MountedSecret implements AsyncDisposable {
  readonly dir: string;

  private constructor(dir: string) {
    this.dir = dir;
  }

  static async create(files: TlsFiles): Promise<MountedSecret> {
    const secret = new MountedSecret(await mkdtemp(join(tmpdir(), "gt-secret-")));
    await secret.put(files);
    for (const name of ["tls.crt", "tls.key", "ca.crt", "crl.pem"])
      await symlink(join("..data", name), join(secret.dir, name));
    return secret;
  }

  /** Replaces the whole set atomically. */
  async put(files: TlsFiles): Promise<void> {
    const before = await readlink(join(this.dir, "..data")).catch(() => undefined);
    await this.swapTo(await this.prepare(files));
    if (before !== undefined) await rm(join(this.dir, before), { recursive: true });
  }

  /** Writes a set beside the one in use, for `swapTo`. */
  async prepare(files: TlsFiles): Promise<string> {
    const version = `..${randomUUID()}`;
    await writeTls(join(this.dir, version), files);
    return version;
  }

  async swapTo(version: string): Promise<void> {
    await symlink(version, join(this.dir, "..data_tmp"));
    await rename(join(this.dir, "..data_tmp"), join(this.dir, "..data"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.dir, { recursive: true, force: true });
  }
}

/** Writes TLS files into a plain folder, which is made if necessary. */
export async function writeTls(dir: string, { cert, key, ca, crl }: TlsFiles): Promise<void> {
  await mkdir(dir, { recursive: true });
  const named = { "tls.crt": cert, "tls.key": key, "ca.crt": ca, ...(crl !== undefined && { "crl.pem": crl }) };
  for (const [file, text] of Object.entries(named)) await writeFile(join(dir, file), text, { mode: 0o600 });
}
