import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Puts a section between its marks in bench/RESULTS.md, in the old one's place if there is one; all else stays as it is. */
export function writeSection(name: string, section: string): void {
  const path = join(import.meta.dirname, "RESULTS.md");
  const text = readFileSync(path, "utf8");
  const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const marked = `${begin}\n\n${section}\n\n${end}`;
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  const isNew = from < 0 || to < from;
  writeFileSync(
    path,
    isNew ? `${text.trimEnd()}\n\n${marked}\n` : `${text.slice(0, from)}${marked}${text.slice(to + end.length)}`,
  );
}
