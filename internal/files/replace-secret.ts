import { chownSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Writes a file of mode 0600 in one step: a reader sees the old text or the new one. A failure leaves the old text, and
 * no other file. Default for `owner`: this process's user.
 * @throws as `writeFileSync`, `chownSync` and `renameSync`
 */
export function replaceSecret(
  path: string,
  text: string,
  owner?: { readonly uid: number; readonly gid: number },
): void {
  const part = join(dirname(path), `.${crypto.randomUUID()}.part`);
  try {
    writeFileSync(part, text, { mode: 0o600, flag: "wx" });
    if (owner !== undefined) chownSync(part, owner.uid, owner.gid);
    renameSync(part, path);
  } catch (err) {
    try {
      rmSync(part, { force: true });
    } catch {
      // this fails only where nothing could be created, so nothing is left
    }
    throw err;
  }
}
