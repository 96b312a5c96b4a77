import { readFileSync } from "node:fs";
import { DomainError } from "../base/errors.ts";

/** The character that Node puts in place of bytes that are not UTF-8. */
const REPLACED = "\ufffd";

/**
 * Refuses arguments that are not UTF-8: Node replaces their bytes, so the program would work with a different text.
 * Where the system does not reveal the bytes, all arguments pass.
 * @throws DomainError `invalid`
 */
export function checkArgumentBytes(argv: readonly string[], readBytes: () => Buffer = ownCommandLine): void {
  if (!argv.some((argument) => argument.includes(REPLACED))) return;
  let bytes: Buffer;
  try {
    bytes = readBytes();
  } catch {
    return;
  }
  if (isText(bytes)) return; // the arguments contain the character itself
  throw new DomainError("invalid", "an argument is not UTF-8", {
    fields: { hint: "convert it, e.g. with iconv -f latin1 -t utf-8" },
  });
}

function isText(bytes: Buffer): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

function ownCommandLine(): Buffer {
  return readFileSync("/proc/self/cmdline");
}
