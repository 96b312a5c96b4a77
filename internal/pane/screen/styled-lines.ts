const SGR = /\x1b\[([0-9;:]*)m/g;

/**
 * Makes each line independent: a style that began on an earlier line is repeated at the beginning of every line that it
 * reaches. tmux writes a style only once, where it begins.
 */
export function* standingAlone(lines: Iterable<string>): Generator<string> {
  const style = new Map<string, string>();
  for (const line of lines) {
    const before = [...style.values()].join("");
    for (const [sequence, parameters = ""] of line.matchAll(SGR)) take(style, sequence, parameters);
    yield line === "" ? line : before + line;
  }
}

function take(style: Map<string, string>, sequence: string, parameters: string): void {
  const first = Number(/^\d*/.exec(parameters)?.[0] ?? "");
  const part = partOf(first);
  if (first === 0) style.clear();
  if (DEFAULTS.has(parameters)) style.delete(part);
  else if (part === "attributes") style.set(part, `${style.get(part) ?? ""}${sequence}`);
  else style.set(part, sequence);
}

/** Parameters that set a default. Every line begins with the defaults, so they are not repeated. */
const DEFAULTS: ReadonlySet<string> = new Set(["", "0", "39", "49", "59"]);

/**
 * The part of the style that a sequence sets. tmux sets each colour by a sequence of its own, and removes attributes
 * only by a reset.
 */
function partOf(first: number): string {
  if ((first >= 30 && first <= 39) || (first >= 90 && first <= 97)) return "foreground";
  if ((first >= 40 && first <= 49) || (first >= 100 && first <= 107)) return "background";
  return first === 58 || first === 59 ? "underline" : "attributes";
}
