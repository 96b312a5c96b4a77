import type { Screen, ScreenLine } from "../../../internal/agents/screen.ts";

/** A screen with these rows at its top and empty rows below; the cursor is after the last text by default. */
export function screenOf(
  texts: readonly string[],
  options: {
    readonly cols?: number;
    readonly rows?: number;
    readonly cursor?: readonly [x: number, y: number];
    readonly alternate?: boolean;
  } = {},
): Screen {
  const { cols = 80, rows = 24, alternate = false } = options;
  const lines: readonly ScreenLine[] = Array.from({ length: rows }, (_, y) => lineOf(texts[y] ?? ""));
  const last = texts.findLastIndex((text) => text !== "");
  const [cursorX, cursorY] = options.cursor ?? [texts[last]?.length ?? 0, Math.max(0, last)];
  return { cols, rows, lines, cursorX, cursorY, alternate, bracketedPaste: true, title: "" };
}

function lineOf(text: string): ScreenLine {
  const runs = text === "" ? [] : [{ text, bold: false, dim: false, inverse: false, fg: "default" }];
  return { text, runs, wrapped: false };
}
