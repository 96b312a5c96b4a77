import { randomBytes } from "node:crypto";
import { threadsError } from "./faults.ts";

const ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789";

/** Generates an id: the prefix, a hyphen and 16 characters (80 random bits). */
export function newId(prefix: "t" | "m" | "e"): string {
  return `${prefix}-${word()}`;
}

/** Generates a wake's id: 16 characters (80 random bits). See `requestIdOf` for the ids of its attempts. */
export function newWakeId(): string {
  return word();
}

/**
 * The request id of an attempt's nudge. It is the same each time the attempt is sent, so that its text is typed once.
 */
export function requestIdOf(wakeId: string, attempt: number): string {
  return `w-${wakeId}-${attempt}`;
}

/** Encodes a position in a list as an opaque cursor. */
export function cursorOf(position: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(position)).toString("base64url");
}

/** Decodes a cursor. @throws DomainError `invalid` for a text that is not one */
export function positionOf(cursor: string): readonly [number, string] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    if (Array.isArray(value) && typeof value[0] === "number" && typeof value[1] === "string")
      return [value[0], value[1]];
  } catch {
    // not a cursor
  }
  throw threadsError("VALIDATION_ERROR", "cursor does not come from an earlier answer");
}

function word(): string {
  return [...randomBytes(16)].map((byte) => ALPHABET[byte % 32]).join("");
}
