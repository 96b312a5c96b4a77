import { randomBytes } from "node:crypto";
import { threadsError } from "./faults.ts";

const ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789";

/** A fresh id: a prefix and 16 characters, 80 random bits. */
export function newId(prefix: "t" | "m" | "e"): string {
  return `${prefix}-${word()}`;
}

/** A wake's id; its attempts are `w-<id>-<attempt>`. */
export function newWakeId(): string {
  return word();
}

/**
 * The id of a nudge: the same for every try of one attempt.
 */
export function requestIdOf(wakeId: string, attempt: number): string {
  return `w-${wakeId}-${attempt}`;
}

/** Opaque: a position in a list, for its reader. */
export function cursorOf(position: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(position)).toString("base64url");
}

/** @throws DomainError `invalid` for a text that `cursorOf` did not make */
export function positionOf(cursor: string): readonly [number, string] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    if (Array.isArray(value) && typeof value[0] === "number" && typeof value[1] === "string")
      return [value[0], value[1]];
  } catch {
    // not ours
  }
  throw threadsError("VALIDATION_ERROR", "cursor is none that an earlier answer gave");
}

function word(): string {
  return [...randomBytes(16)].map((byte) => ALPHABET[byte % 32]).join("");
}
