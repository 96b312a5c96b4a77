import { hash } from "node:crypto";
import { closeSync, constants } from "node:fs";
import { readJournalLines } from "../../eventlog/journal-lines.ts";
import { openPlainFile } from "../../files/plain-file.ts";

/**
 * True if the front's journal has a crossing with this id and text, which decides the outcome of a call whose response
 * was lost. The journal belongs to the other half, so it is read as hostile input.
 */
export function isInFrontJournal(path: string, crossing: { readonly id: string; readonly sha256: string }): boolean {
  let fd: number;
  try {
    fd = openPlainFile(path, constants.O_RDONLY);
  } catch {
    return false;
  }
  try {
    for (const line of readJournalLines(fd)) {
      // Most lines are other records, which need no parsing.
      if (line.type === "record" && line.json.includes(crossing.id) && isCrossing(line.json, crossing)) return true;
    }
    return false;
  } catch {
    return false;
  } finally {
    closeSync(fd);
  }
}

function isCrossing(json: string, { id, sha256 }: { readonly id: string; readonly sha256: string }): boolean {
  try {
    const record = JSON.parse(json) as Readonly<Record<string, unknown>>;
    const text = record["admin_input"];
    return record["id"] === id && typeof text === "string" && hash("sha256", text, "hex") === sha256;
  } catch {
    return false;
  }
}
