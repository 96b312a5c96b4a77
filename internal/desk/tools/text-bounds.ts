import { DomainError } from "../../base/errors.ts";

/** The largest answer that is recorded or sent back over the bridge, bytes. */
export const ANSWER_BYTES = 65_536;

/** @throws DomainError `invalid` (`reason` is `refused`) unless a text has 1 to `maxBytes` bytes and is well formed */
export function checkDeskText(text: string, maxBytes: number): void {
  if (text === "") throw refused("the text is empty");
  if (!text.isWellFormed()) throw refused("the text is not well formed");
  if (Buffer.byteLength(text) > maxBytes) throw refused(`the text has more than ${maxBytes} bytes`);
}

/** A thread's name. */
export const THREAD_NAME = /^[A-Za-z0-9._-]{1,64}$/;

/** The longest beginning of a text that has at most `maxBytes` in UTF-8 and ends with a whole character. */
export function cutText(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text.slice(0, maxBytes));
  let end = maxBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString("utf8", 0, end);
}

function refused(message: string): DomainError {
  return new DomainError("invalid", message, { fields: { reason: "refused" } });
}
