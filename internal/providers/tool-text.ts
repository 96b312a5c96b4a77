const MAX_CALL_CHARS = 500;
const MAX_RESULT_LINES = 12;
const MAX_RESULT_CHARS = 2_000;

/** A tool's call as one line for people. */
export function toolCallText(call: string): string {
  const line = call.replaceAll(/\s*\n\s*/g, " ⏎ ");
  return `● ${line.length > MAX_CALL_CHARS ? `${line.slice(0, MAX_CALL_CHARS)}…` : line}\n`;
}

/** A tool's result as lines for people: the beginning of a long one. */
export function toolResultText(result: string): string {
  const text = result.slice(0, MAX_RESULT_CHARS).trimEnd();
  if (text === "") return "";
  const lines = text.split("\n");
  const shown = lines.slice(0, MAX_RESULT_LINES);
  const isCut = lines.length > MAX_RESULT_LINES || result.trimEnd().length > MAX_RESULT_CHARS;
  return [...shown, ...(isCut ? ["…"] : [])].map((line, row) => `${row === 0 ? "  ⎿ " : "    "}${line}\n`).join("");
}
