import { renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Writes a file of mode 0600 in one step: a reader sees the old text or the new one. A failure leaves the old text, and
 * no other file.
 * @throws as `writeFileSync` and `renameSync`
 */
export function replaceSecret(path: string, text: string): void {
  const part = join(dirname(path), `.${crypto.randomUUID()}.part`);
  try {
    writeFileSync(part, text, { mode: 0o600, flag: "wx" });
    renameSync(part, path);
  } catch (err) {
    try {
      rmSync(part, { force: true });
    } catch {
      // where nothing could be made, nothing is left
    }
    throw err;
  }
}
