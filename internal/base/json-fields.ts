/** A JSON object whose fields have unknown types. */
export type Json = Readonly<Record<string, unknown>>;

/**
 * Parses a line that is a JSON object; undefined for any other line, and for one that does not start with the brace.
 */
export function parseObject(line: string): Json | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return asObject(JSON.parse(line));
  } catch {
    return undefined;
  }
}

export function isJsonObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function asObject(value: unknown): Json | undefined {
  return isJsonObject(value) ? value : undefined;
}

/** The value if it is an object; an empty one otherwise. */
export function objectOf(value: unknown): Json {
  return asObject(value) ?? {};
}

/** The object at a path of field names; an empty one if there is no object. */
export function objectAt(from: Json | undefined, ...path: readonly string[]): Json {
  let at: Json | undefined = from;
  for (const name of path) at = asObject(at?.[name]);
  return at ?? {};
}

/** The value if it is a string; an empty string otherwise. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The objects in a list, without its other elements; empty if the value is not a list. */
export function asObjects(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(asObject).filter((item) => item !== undefined) : [];
}
