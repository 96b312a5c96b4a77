import { readFile } from "node:fs/promises";
import { DomainError, errorText } from "../../base/errors.ts";

/** The text of a file that a flag names. @throws DomainError `invalid`, naming the file */
export async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (err) {
    throw new DomainError("invalid", `cannot read ${path}: ${errorText(err)}`, { cause: err });
  }
}
