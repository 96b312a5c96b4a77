import { randomUUID } from "node:crypto";
import { renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Writes a file of mode 0600 in one step: a reader sees the old text or the new one. @throws as `renameSync` */
export function replaceSecret(path: string, text: string): void {
  const part = join(dirname(path), `.token.${randomUUID()}`);
  writeFileSync(part, text, { mode: 0o600, flag: "wx" });
  renameSync(part, path);
}
