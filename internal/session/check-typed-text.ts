import { DomainError } from "../base/errors.ts";

const MAX_BYTES = 65_536;

/** Checks a text that is to be typed unchanged. @throws DomainError `invalid` if it is too long or has a NUL byte */
export function checkTypedText(text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_BYTES) throw new DomainError("invalid", `cannot type a text of ${bytes} bytes: at most ${MAX_BYTES}`);
  if (text.includes("\0")) throw new DomainError("invalid", "cannot type a text with a NUL byte");
}
