import { statSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "../../../internal/base/errors.ts";
import { statePlace } from "./ca-record.ts";
import type { CaFiles } from "./open-ca.ts";

/**
 * Checks that a command does not write to any of the CA's own files. Even --force does not replace those.
 * @throws DomainError `already-exists`
 */
export function checkNotCaFiles({ ca, caKey }: CaFiles, written: readonly string[]): void {
  const { folder, name } = statePlace(caKey);
  const own = new Set([ca, caKey, join(folder, name)].flatMap(identityOf));
  const path = written.find((one) => identityOf(one).some((id) => own.has(id)));
  if (path === undefined) return;
  throw new DomainError("already-exists", `${path} is one of the CA's own files, which are never replaced`, {
    fields: { hint: "choose another name" },
  });
}

/** The device and inode of a file, which all its names share; empty if it cannot be found. */
function identityOf(path: string): string[] {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return [`${dev} ${ino}`];
  } catch {
    return [];
  }
}
