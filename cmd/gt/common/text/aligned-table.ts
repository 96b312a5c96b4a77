import { textWidth } from "../../../../internal/base/text-width.ts";

/** Formats rows as lines; each column but the last is as wide as its widest cell. */
export function alignedTable(rows: readonly (readonly string[])[]): readonly string[] {
  const columns = Math.max(...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, i) => Math.max(...rows.map((row) => textWidth(row[i] ?? ""))));
  const pad = (text: string, i: number) => text + " ".repeat((widths[i] ?? 0) - textWidth(text));
  return rows.map((row) =>
    row
      .map((cell, i) => (i === columns - 1 ? cell : pad(cell, i)))
      .join("  ")
      .trimEnd(),
  );
}
