const MAX_CALL_CHARS = 500;
const MAX_RESULT_LINES = 12;
const MAX_RESULT_CHARS = 2_000;

/** A tool's call as one line for people. */
export function toolCallText(call: string): string {
  const line = call.replaceAll(/\s*\n\s*/g, " ⏎ ");
  return `● ${line.length > MAX_CALL_CHARS ? `${line.slice(0, MAX_CALL_CHARS)}…` : line}\n`;
}

/** A tool's result as lines for people, cut if it is long. */
export function toolResultText(result: string): string {
  const text = result.slice(0, MAX_RESULT_CHARS).trimEnd();
  if (text === "") return "";
  const lines = text.split("\n");
  const shown = lines.slice(0, MAX_RESULT_LINES);
  const isCut = lines.length > MAX_RESULT_LINES || result.trimEnd().length > MAX_RESULT_CHARS;
  return [...shown, ...(isCut ? ["…"] : [])].map((line, row) => `${row === 0 ? "  ⎿ " : "    "}${line}\n`).join("");
}

/** The fields that describe a tool's work best, in this order. */
const TELLING = [
  "command",
  "cmd",
  "file_path",
  "filePath",
  "filepath",
  "path",
  "pattern",
  "query",
  "url",
  "prompt",
  "description",
];

/** The part of a tool's input that describes its work. */
export function toolInputText(input: Readonly<Record<string, unknown>>): string {
  for (const name of TELLING) {
    const value = input[name];
    if (typeof value === "string" && value !== "") return value;
  }
  const { questions } = input;
  if (Array.isArray(questions)) return questions.map(questionText).join("\n");
  return Object.keys(input).length === 0 ? "" : JSON.stringify(input);
}

/** A question that the model asks a person, with its choices. */
function questionText(question: unknown): string {
  const { question: text, options } = (question ?? {}) as { readonly question?: unknown; readonly options?: unknown };
  const labels = Array.isArray(options) ? options.map((option) => (option as { label?: unknown } | null)?.label) : [];
  return `${String(text ?? "")} ${labels.map((label) => `[${String(label)}]`).join(" ")}`.trim();
}
