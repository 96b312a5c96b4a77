import { DomainError } from "../../base/errors.ts";

const NAMED = new Set(
  (
    "Enter Escape Tab BTab Space BSpace Up Down Left Right Home End PageUp PPage PgUp PageDown NPage PgDn " +
    "IC Insert DC Delete F1 F2 F3 F4 F5 F6 F7 F8 F9 F10 F11 F12"
  ).split(" "),
);
const MODIFIERS = /^(?:[CMS]-|\^(?=.))*/;
const PRINTABLE = /^[^\p{C}\p{Z}]$/u;

/**
 * Checks tmux key names: `Escape`, `Up`, `F1`, `C-c`, `M-x`, `C-M-Left`, or one printable character. Case matters.
 * @throws DomainError `invalid` naming the first bad name, or when there are no names or more than 256.
 */
export function checkKeys(names: readonly string[]): void {
  if (names.length === 0) throw new DomainError("invalid", "no keys given");
  if (names.length > 256)
    throw new DomainError("invalid", `${names.length} keys are too many: at most 256 are allowed at once`);
  for (const name of names) {
    if (!isKey(name)) throw new DomainError("invalid", `not a tmux key: ${JSON.stringify(name.slice(0, 40))}`);
  }
}

function isKey(name: string): boolean {
  return PRINTABLE.test(name) || isNamedKey(name);
}

/** Whether a key's name has more than one character, as `Up` and `C-c` do. */
export function isNamedKey(name: string): boolean {
  const key = name.replace(MODIFIERS, "");
  return NAMED.has(key) || (key !== name && PRINTABLE.test(key));
}
