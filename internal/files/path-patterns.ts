import { DomainError } from "../base/errors.ts";
import { plainParts } from "./rooted-walk.ts";

/** Whether the parts of a path match a pattern of an allow-list. */
export type PathPattern = (parts: readonly string[]) => boolean;

const ANY_DEPTH = "**";

/**
 * A pattern such as `/docs/**` or `/docs/*.md`: `**` as a whole part is any number of parts, `*` within a part any
 * characters of it. Parts are compared as they are, byte by byte.
 * @throws DomainError `invalid` unless it is an absolute path of plain parts
 */
export function pathPattern(text: string): PathPattern {
  const parts = plainParts(text);
  const isOdd = text.endsWith("/") || parts?.some((part) => part !== ANY_DEPTH && part.includes(ANY_DEPTH));
  if (parts === undefined || isOdd) {
    throw new DomainError("invalid", "a pattern is an absolute path, with * within a part and ** for any parts");
  }
  return (path) => matchParts(parts, path);
}

/**
 * Dynamic programming over the parts: the time is proportional to the product of the two numbers of parts, whatever the
 * pattern.
 */
function matchParts(pattern: readonly string[], path: readonly string[]): boolean {
  let reached = path.map(() => false).concat(false);
  reached[0] = true;
  for (const wanted of pattern) {
    const next = reached.map(() => false);
    for (let i = 0; i <= path.length; i++) {
      if (wanted === ANY_DEPTH) next[i] = reached[i] === true || (i > 0 && next[i - 1] === true);
      else next[i] = i > 0 && reached[i - 1] === true && matchPart(wanted, path[i - 1] ?? "");
    }
    reached = next;
  }
  return reached[path.length] === true;
}

/** Finds each piece between stars at its first place, the last piece at the end. */
function matchPart(wanted: string, part: string): boolean {
  const [first = "", ...pieces] = wanted.split("*");
  const last = pieces.pop();
  if (last === undefined) return part === wanted;
  if (!part.startsWith(first)) return false;
  let at = first.length;
  for (const piece of pieces) {
    const found = part.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return part.length - last.length >= at && part.endsWith(last);
}
