import { statSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "../../../internal/base/errors.ts";
import { statePlace } from "./ca-record.ts";
import type { CaFiles } from "./open-ca.ts";

/**
 * Checks that no output file of a command is one of the CA's own files, which even --force does not replace.
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

/** The same identity for all names of one file; empty if the file does not exist. */
function identityOf(path: string): string[] {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return [`${dev} ${ino}`];
  } catch {
    return [];
  }
}
