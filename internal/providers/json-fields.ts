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

/** Empty for anything but a text. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
