import { DomainError, errorText } from "../../../internal/base/errors.ts";
import { readRegularFileSync } from "../../../internal/files/regular-file.ts";

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  ENOTDIR: "a part of the path is not a folder",
  EISDIR: "it is a folder",
  EACCES: "permission denied",
  EPERM: "permission denied",
};

/** The text of a file. @throws DomainError `invalid`, naming the file and saying why it cannot be read */
export function readText(path: string): string {
  try {
    return readRegularFileSync(path);
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    throw new DomainError("invalid", `cannot read ${path}: ${WORDS[code] ?? errorText(cause)}`, { cause });
  }
}
