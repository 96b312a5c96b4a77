/** A JSON value as `readJson` returns it: numbers that JavaScript would change are kept as their source text. */
export type ExactJson = null | boolean | number | string | readonly ExactJson[] | JsonObject | RawNumber;
export interface JsonObject {
  readonly [key: string]: ExactJson | undefined;
}

/** A number as its source text; `writeJson` writes the same digits. */
interface RawNumber {
  readonly rawJSON: string;
}

/** Parts of `JSON` that TypeScript's library does not declare yet. */
const json = JSON as unknown as {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): RawNumber;
  isRawJSON(value: unknown): boolean;
};

/** The deepest nesting that is read, since reading and writing are recursive. */
const MAX_DEPTH = 100;
/** The depth limit for the relay's own records, which contain such values. */
export const RECORD_DEPTH = 200;

/**
 * Reads a JSON text. Integers above 2^53, and other numbers that JavaScript writes differently, keep their digits.
 * Undefined: the text is not JSON, is nested deeper than `maxDepth`, or has a string that is not well-formed Unicode.
 */
export function readJson(text: string, maxDepth = MAX_DEPTH): ExactJson | undefined {
  if (isTooDeep(text, maxDepth)) return undefined;
  try {
    return json.parse(text, (key, value, { source }) => {
      if (!key.isWellFormed()) throw new SyntaxError("lone surrogate");
      if (typeof value === "string" && !value.isWellFormed()) throw new SyntaxError("lone surrogate");
      if (typeof value === "number" && source !== undefined && String(value) !== source) return json.rawJSON(source);
      return value;
    }) as ExactJson;
  } catch {
    return undefined;
  }
}

/** Writes a value as JSON, keeping the order of its keys. */
export function writeJson(value: unknown): string {
  return JSON.stringify(value);
}

/** Writes equal values as the same text, whatever the order of their keys. */
export function canonicalJson(value: ExactJson): string {
  if (Array.isArray(value)) return `[${value.map((item: ExactJson) => canonicalJson(item)).join()}]`;
  if (!isObject(value)) return writeJson(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${writeJson(key)}:${canonicalJson(value[key] ?? null)}`);
  return `{${members.join()}}`;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !json.isRawJSON(value);
}

export function isList(value: ExactJson | undefined): value is readonly ExactJson[] {
  return Array.isArray(value);
}

/** The object's own member: `__proto__` and the like are ordinary names in JSON. */
export function member(object: JsonObject, key: string): ExactJson | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function isTooDeep(text: string, maxDepth: number): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === "\\" && isInString) at++;
    else if (char === '"') isInString = !isInString;
    else if (isInString) continue;
    else if (char === "[" || char === "{") {
      if (++depth > maxDepth) return true;
    } else if (char === "]" || char === "}") depth--;
  }
  return false;
}
