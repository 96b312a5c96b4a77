import { DomainError } from "../../../internal/base/errors.ts";

export const DEFAULT_DETACH_KEYS = "ctrl-]";

/** Keys that end an attachment: their bytes, and how they are written. */
export interface DetachKeys {
  readonly bytes: Buffer;
  readonly text: string;
}

/**
 * One or more keys in order, separated by commas: `ctrl-` and one of a–z @ [ \ ] ^ _, or one printable character.
 * @throws DomainError `invalid`
 */
export function parseDetachKeys(text: string): DetachKeys {
  const keys = text.toLowerCase().split(",");
  if (keys.length > 4) throw refused(text);
  const bytes = keys.map((key) => {
    const control = /^ctrl-([a-z@[\\\]^_])$/.exec(key)?.[1];
    if (control !== undefined) return control.toUpperCase().charCodeAt(0) & 0x1f;
    if (/^[!-~]$/.test(key)) return key.charCodeAt(0);
    throw refused(text);
  });
  return { bytes: Buffer.from(bytes), text: keys.map((key) => key.replace(/^ctrl-/, "Ctrl-")).join(" ") };
}

function refused(text: string): DomainError {
  return new DomainError("invalid", `cannot detach with the keys ${JSON.stringify(text)}`, {
    fields: { hint: "write them as in ctrl-] or ctrl-p,ctrl-q" },
  });
}
