import { closeSync, constants, openSync } from "node:fs";
import { DomainError } from "../../base/errors.ts";
import { foldersOverlap } from "../../files/folder-overlap.ts";
import { systemReason } from "../../files/system-reason.ts";

/** A folder and its purpose. */
export interface NamedFolder {
  readonly name: string;
  readonly path: string;
}

/**
 * Refuses a start if a root is, contains or lies in one of the other folders, under any name.
 * @throws DomainError `unavailable` naming the two
 */
export function assertSeparate(roots: readonly NamedFolder[], others: readonly NamedFolder[]): void {
  using held = new DisposableStack();
  const open = ({ name, path }: NamedFolder) => {
    const fd = openFolder(name, path);
    held.defer(() => closeSync(fd));
    return { name, fd };
  };
  const opened = roots.map(open);
  const rest = others.map(open);
  for (const [i, root] of opened.entries()) {
    const other = [...opened.slice(i + 1), ...rest].find(({ fd }) => foldersOverlap(root.fd, fd));
    if (other === undefined) continue;
    throw new DomainError("unavailable", `${root.name} and ${other.name} overlap`, {
      fields: { hint: "give each a folder of its own: neither may lie in the other" },
    });
  }
}

function openFolder(name: string, path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  } catch (cause) {
    throw new DomainError("unavailable", `cannot open ${name} ${path}: ${systemReason(cause, "folder")}`, { cause });
  }
}
