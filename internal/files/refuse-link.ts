import { lstatSync, readlinkSync } from "node:fs";
import { DomainError } from "../base/errors.ts";

/**
 * Refuses to replace a link with a file: everyone who reads the link's target would still get the old content. Writing
 * through the link is no alternative: where others may write, a link could lead to any file.
 * @throws DomainError `invalid` for a link, naming it
 */
export function refuseLink(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return;
  throw new DomainError("invalid", `${path} is a link to ${readlinkSync(path)}: it is not replaced by a file`, {
    fields: { hint: "name the file that it leads to, or remove the link" },
  });
}
