import { lstatSync, readlinkSync } from "node:fs";
import { DomainError } from "../base/errors.ts";

/**
 * For a file that is to be replaced: if it replaced a link, the link's target would stay as it was for all who read it
 * there. It is not written through the link either: where others may write, it could lead to any file.
 * @throws DomainError `invalid` for a link, naming it
 */
export function refuseLink(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return;
  throw new DomainError("invalid", `${path} is a link to ${readlinkSync(path)}: it is not replaced by a file`, {
    fields: { hint: "name the file that it leads to, or remove the link" },
  });
}
