import { DomainError } from "./errors.ts";

/** A string, with the following colon if it is a key; or a bracket that opens or closes an object or a list. */
const TOKEN = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\]]/g;

/**
 * Parses a JSON text in which no object has a duplicate key: parsers differ in which of the two they use.
 * @throws DomainError `invalid`, which quotes nothing of the text
 */
export function parseStrictJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new DomainError("invalid", "not JSON"); // the parser's own error quotes the text
  }
  if (hasDuplicateKey(text)) throw new DomainError("invalid", "an object has a duplicate key");
  return value;
}

/** `text` must be JSON. */
function hasDuplicateKey(text: string): boolean {
  const open: Set<string>[] = [];
  for (const [token, colon] of text.matchAll(TOKEN)) {
    if (token === "{" || token === "[") open.push(new Set());
    else if (token === "}" || token === "]") open.pop();
    else if (colon !== undefined) {
      const key = String(JSON.parse(token.slice(0, -colon.length)));
      const keys = open.at(-1);
      if (keys?.has(key)) return true;
      keys?.add(key);
    }
  }
  return false;
}
