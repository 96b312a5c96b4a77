import { createHash } from "node:crypto";
import type { Metadata } from "./types.ts";

/** Lower case, one space between words, no punctuation at the end: texts that say the same have the same. */
function normalisedText(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/\s+/gu, " ")
    .trim()
    .replace(/[.!?…,;:\s]+$/u, "");
}

/** Hex SHA-256 of a text's normalised form. */
export function textHash(text: string): string {
  return createHash("sha256").update(normalisedText(text)).digest("hex");
}

/** Which finding it is: hex SHA-256 of type, path, line and normalised text. */
export function findingFingerprint(type: string, text: string, metadata: Metadata | undefined): string {
  const path = typeof metadata?.["path"] === "string" ? metadata["path"] : "";
  const line = typeof metadata?.["line"] === "number" ? metadata["line"] : "";
  return createHash("sha256")
    .update(JSON.stringify([type, path, line, normalisedText(text)]))
    .digest("hex");
}
