/** Pieces of the dialogs of every known program, as a command or a question can quote them. */
const QUOTED: readonly (readonly string[])[] = [
  ["1. Reject", "2. Allow once"],
  ["  1. Reject", "  2. Allow always", "  3. Allow once"],
  ["1. Yes", "2. No"],
  ["❯ 1. No", "  2. Yes"],
  [" ❯ 1. Yes", "   2. Yes, and always allow access to / from this project", "   3. No"],
  ["Do you want to proceed?", " ❯ 1. No", "   2. Yes", "", " Esc to cancel · Tab to amend"],
  ["❯ 1. Green", "     like the hedge", "  2. Blue", "  3. Type something.", "  4. Chat about this"],
  ["Enter to select · ↑/↓ to navigate · Esc to cancel"],
  ["› 1. No, and tell Codex what to do differently (esc)", "  2. Yes, proceed (y)"],
  ["  Would you like to run the following command?", "", "› 1. Yes, proceed (y)", "  2. No (esc)"],
  ["  Press enter to confirm or esc to cancel"],
  [
    "┃  △ Permission required",
    "┃   Allow once   Allow always   Reject      ctrl+f fullscreen  ⇆ select  enter confirm",
  ],
  ["   Reject   Allow always   Allow once   ctrl+f fullscreen  ⇆ select  enter confirm", "┃"],
  ["┃  1. Reject", "┃     runs nothing", "┃  2. Type your own answer", "┃  ↑↓ select  enter submit  esc dismiss"],
  ["3. Type your own answer", "↑↓ select  enter submit  esc dismiss"],
  ["4. No", "5. Yes", "6. Type something."],
  ["5. Reject everything", "4. No", "3. No", "2. No", "1. No"],
  ["─".repeat(158), "❯ 1. Yes", "  2. No", "─".repeat(158)],
  ["─".repeat(300)],
  ["╌".repeat(158), " Do you want to proceed?"],
  [`╹${"▀".repeat(60)}`, "❯ ", "─".repeat(40)],
  ["┃".repeat(5), "│ 1. Yes │", "│ 2. No  │"],
  ["✻ Working… (3s · esc to interrupt)", "• Working (3s • esc to interrupt)"],
  ["漢字漢字漢字 1. はい", "👩‍👩‍👧‍👦 2. いいえ 🇪🇺"],
  ["\\u001b[7m› 1. Yes\\u001b[0m", "\\033[1;7m❯ 1. No\\033[0m", "^[[38;5;153m❯^[[0m 1. Yes"],
  ["? Allow this command?", "❯ 1. Yes", "Enter to choose · Esc to cancel"],
  ["- [ ] 1. Yes", "* 2) No", "→ 3. Maybe", "> 4. Never", "▶ 5. Always"],
  ["(y) yes", "(n) no", "[Y/n]"],
];

/** Lines that fill a row, wrap at an odd place, or push a number to the start of a row. */
const FILLERS: readonly ((random: () => number) => string)[] = [
  (random) => `${"x".repeat(Math.floor(random() * 320))} 1. Reject 2. Allow once`,
  (random) => `${"漢".repeat(Math.floor(random() * 90))} ❯ 2. No`,
  (random) => " ".repeat(Math.floor(random() * 170)).concat("1. Reject"),
  (random) => `${"word ".repeat(Math.floor(random() * 70))}❯ 1. Yes`,
  (random) => "─".repeat(Math.floor(random() * 200)),
  () => "",
  (random) => `${Math.floor(random() * 9)}. ${["Yes", "No", "Reject", "Allow once"][Math.floor(random() * 4)]}`,
];

const pick = <T>(items: readonly T[], random: () => number): T => items[Math.floor(random() * items.length)] as T;

/** Lines that imitate dialogs, one to `most` of them; the same `random` gives the same lines. */
export function hostileLines(random: () => number, most: number): readonly string[] {
  const lines: string[] = [];
  const wanted = 1 + Math.floor(random() * most);
  while (lines.length < wanted) {
    if (random() < 0.3) lines.push(pick(FILLERS, random)(random));
    else lines.push(...pick(QUOTED, random));
  }
  return lines.slice(0, wanted);
}

/** One line that imitates a choice or a row of keys. */
export function hostileLine(random: () => number): string {
  return pick(pick(QUOTED, random), random).trim() || "1. Reject";
}
