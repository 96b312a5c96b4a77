import type { Screen, ScreenLine, ScreenRun } from "../../../internal/agents/screen.ts";

/** The subject of a dialog, and the choices that the program draws for it. */
export interface DrawnDialog {
  /** A command or a question: text that may imitate anything. One row each. */
  readonly quoted: readonly string[];
  readonly labels: readonly string[];
  /** The text below each label, indented; none for a permission. */
  readonly descriptions: readonly string[];
  /** The position of the selected choice. */
  readonly selected: number;
}

type Style = Partial<Omit<ScreenRun, "text">>;
type Part = readonly [text: string, style?: Style];

const COLS = 160;
const ROWS = 50;
const RULE = "─".repeat(COLS);
const MUTED = { fg: "8" };
const PLAIN = { fg: "255" };

const part = (text: string, style: Style = {}): ScreenRun => ({
  text,
  bold: false,
  dim: false,
  inverse: false,
  fg: "default",
  ...style,
});

function row(...parts: readonly Part[]): ScreenLine {
  const runs = parts.filter(([text]) => text !== "").map(([text, style]) => part(text, style));
  return {
    text: runs
      .map((run) => run.text)
      .join("")
      .trimEnd(),
    runs,
    wrapped: false,
  };
}

/** The rows at the bottom of a screen; rows that do not fit have scrolled out above. */
function screenOf(
  lines: readonly ScreenLine[],
  cursor: (top: number) => readonly [number, number],
  title = "",
): Screen {
  const shown = lines.slice(-ROWS);
  const top = ROWS - lines.length;
  const [cursorX, cursorY] = cursor(top);
  const above = Array.from({ length: ROWS - shown.length }, () => row());
  const all = { cols: COLS, rows: ROWS, lines: [...above, ...shown], cursorX, cursorY };
  return { ...all, alternate: false, bracketedPaste: true, title };
}

/** Claude Code 2.1.197: the command is indented by three, to the column of the numbers; the cursor is on the mark. */
export function claudePermission({ quoted, labels, selected }: DrawnDialog): Screen {
  const head = [row([RULE]), row([" Bash command"]), row(), ...quoted.map((text) => row([`   ${text}`])), row()];
  const asks = [...head, row([" Do you want to proceed?"])];
  const list = labels.map((label, i) => row([` ${i === selected ? "❯" : " "} ${i + 1}. ${label}`]));
  const lines = [...asks, ...list, row(), row([" Esc to cancel · Tab to amend"])];
  return screenOf(lines, (top) => [1, top + asks.length + selected]);
}

/** Claude Code: the question begins in the first column, like the marks; on its last choice the cursor is elsewhere. */
export function claudeQuestion({ quoted, labels, descriptions, selected }: DrawnDialog): Screen {
  const head = [row([RULE]), row([" ☐ Colour"]), row(), ...quoted.map((text) => row([text])), row()];
  const items = labels.flatMap((label, i) => [
    ...(i === labels.length - 1 ? [row([RULE])] : []),
    row([`${i === selected ? "❯" : " "} ${i + 1}. ${label}`]),
    ...(i < labels.length - 2 ? descriptions.map((text) => row([`     ${text}`])) : []),
  ]);
  const at = items.findIndex((line) => line.text.startsWith("❯ ") && line.text.startsWith(`❯ ${selected + 1}. `));
  const lines = [...head, ...items, row(), row(["Enter to select · ↑/↓ to navigate · Esc to cancel"])];
  return screenOf(lines, (top) => [0, selected === labels.length - 1 ? ROWS - 1 : top + head.length + at]);
}

/** Codex: everything is indented by two, including the numbers; the chosen row begins in the first column. */
export function codexPermission({ quoted, labels, descriptions, selected }: DrawnDialog): Screen {
  const head = [row(["  "], ["Would you like to run the following command?", { bold: true }]), row()];
  const command = quoted.map((text, i) => row([i === 0 ? "  $ " : "  "], [text]));
  const items = labels.flatMap((label, i) => [
    i === selected ? row([`› ${i + 1}. ${label}`, { bold: true, inverse: true }]) : row([`  ${i + 1}. ${label}`]),
    ...descriptions.map((text) => row([`     ${text}`])),
  ]);
  const keys = row(
    ["  Press ", { dim: true }],
    ["enter", { bold: true }],
    [" to confirm or esc to cancel", { dim: true }],
  );
  const lines = [...head, ...command, row(), ...items, row(), keys];
  return screenOf(lines, () => [COLS - 1, ROWS - 1], "[ ! ] Action Required | work");
}

/** OpenCode: buttons in the row of keys; the subject is above them, after the same bar. */
export function opencodePermission({ quoted, labels, selected }: DrawnDialog): Screen {
  const bar: Part = ["  ┃", { fg: "215" }];
  const head = [row(bar), row(bar, ["  △ ", { fg: "215" }], ["Permission required", PLAIN])];
  const body = quoted.map((text) => row(bar, ["  "], [text, PLAIN]));
  const buttons = labels.flatMap((label, i): Part[] => [["   "], [label, i === selected ? { fg: "232" } : MUTED]]);
  const hints: readonly Part[] = [
    ["      "],
    ["⇆ ", PLAIN],
    ["select", MUTED],
    ["  "],
    ["enter ", PLAIN],
    ["confirm", MUTED],
  ];
  const lines = [...head, row(bar), ...body, row(bar), row(bar, ...buttons, ...hints), row(bar)];
  return screenOf(lines, () => [116, ROWS - 1]);
}

/** OpenCode: a list below the question, in the same column; the chosen one's number has a colour of its own. */
export function opencodeQuestion({ quoted, labels, descriptions, selected }: DrawnDialog): Screen {
  const bar: Part = ["  ┃", { fg: "140" }];
  const items = labels.flatMap((label, i) => [
    row(
      bar,
      ["  "],
      [`${i + 1}.`, i === selected ? { fg: "68" } : MUTED],
      [" "],
      [label, i === selected ? { fg: "75" } : PLAIN],
    ),
    ...(i < labels.length - 1 ? descriptions.map((text) => row(bar, ["     "], [text, MUTED])) : []),
  ]);
  const keys = row(
    bar,
    ["  ↑↓ ", PLAIN],
    ["select", MUTED],
    ["  enter ", PLAIN],
    ["submit", MUTED],
    ["  esc ", PLAIN],
    ["dismiss", MUTED],
  );
  const lines = [
    row(bar),
    ...quoted.map((text) => row(bar, ["  "], [text, PLAIN])),
    row(bar),
    ...items,
    row(bar),
    keys,
    row(bar),
  ];
  return screenOf(lines, () => [116, ROWS - 1]);
}
