// Generates the lists of all agent programs in files that are otherwise written by hand.
import { profileNames } from "../../internal/agents/known-programs.ts";
import { profileNamed } from "../../internal/agents/programs/registry.ts";
import { normalise } from "../../internal/agents/safe-text.ts";

const DELIVERY = "docs/protocols/delivery.md";
const SCHEMA = "charts/gastown/values.schema.json";

/**
 * The texts of these files, by path, with lists from the registry of agent programs. `read` returns a file's present
 * text.
 */
export function programLists(read: (path: string) => string): Readonly<Record<string, string>> {
  return { [DELIVERY]: withTypedTexts(read(DELIVERY)), [SCHEMA]: withProfiles(read(SCHEMA)) };
}

/**
 * Fills the table: a row begins with a message, in words and as a JSON string; the text that is typed into each program
 * follows.
 */
function withTypedTexts(page: string): string {
  const lines = page.split("\n");
  const head = lines.findIndex((line) => line.startsWith("| message |"));
  const end = lines.indexOf("", head);
  const titles = rowOf(["message", "for example", ...profileNames]);
  const rule = `|${"---|".repeat(profileNames.length + 2)}`;
  const rows = lines.slice(head + 2, end).map((line) => {
    const [, words = "", example = ""] = line.split("|").map((cell) => cell.trim());
    const message = JSON.parse(example.slice(1, -1)) as string;
    return rowOf([words, example, ...profileNames.map((name) => typedInto(name, message))]);
  });
  return [...lines.slice(0, head), titles, rule, ...rows, ...lines.slice(end)].join("\n");
}

/**
 * The text that is typed for a message, in the table's notation.
 * @internal
 */
export function typedInto(profile: string, message: string): string {
  const normal = normalise(message);
  const safe = normal.type === "safe" ? profileNamed(profile).defuse(normal.text) : normal;
  if (safe.type === "unsafe") return "UNSAFE";
  return safe.text === message ? "as sent" : asCell(safe.text);
}

/**
 * A text in the table's notation: a JSON string of printable ASCII.
 * @internal
 */
export const asCell = (text: string): string =>
  `\`${JSON.stringify(text).replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)}\``;

const rowOf = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;

function withProfiles(schema: string): string {
  const names = profileNames.map((name) => JSON.stringify(name)).join(", ");
  return schema.replace(/("profile": \{\s*"enum": )\[[^\]]*\]/, `$1[${names}]`);
}
