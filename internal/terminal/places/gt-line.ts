import { plainText } from "../../base/sanitise.ts";
import type { PlaceConfig } from "./place-config.ts";

/**
 * A call of `gt` to type into a shell, with the flags that lead to the same agent: only the given ones, because values
 * from the environment or a profile apply again. Empty words are left out.
 */
export function gtLine(words: readonly string[], { given = {} }: Pick<PlaceConfig, "given">): string {
  const flags = Object.entries(given).flatMap(([name, value]) =>
    value === true ? [`--${name}`] : [`--${name}`, String(value)],
  );
  return ["gt", ...words.filter((word) => word !== ""), ...flags]
    .map((word) => shellWord(plainText(word).replaceAll(/\s+/g, " ")))
    .join(" ");
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
