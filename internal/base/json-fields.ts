/** A JSON object whose fields are not known to be anything. */
export type Json = Readonly<Record<string, unknown>>;

/** The object that a line holds; undefined for a line that holds none. */
export function parseObject(line: string): Json | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return asObject(JSON.parse(line));
  } catch {
    return undefined;
  }
}

function asObject(value: unknown): Json | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
}

/** The object that a value is; an empty one for anything else. */
export function objectOf(value: unknown): Json {
  return asObject(value) ?? {};
}

/** The value at a path of names; an empty object if there is none. */
export function objectAt(from: Json | undefined, ...path: readonly string[]): Json {
  let at: Json | undefined = from;
  for (const name of path) at = asObject(at?.[name]);
  return at ?? {};
}

/** Empty for anything but a text. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Those of the values that are objects; none for anything but a list. */
export function asObjects(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.map(asObject).filter((item) => item !== undefined) : [];
}
