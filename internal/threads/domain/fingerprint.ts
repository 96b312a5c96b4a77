import { createHash } from "node:crypto";
import type { Metadata } from "./types.ts";

/** Normalises a text, so that copies that differ in case, spacing or final punctuation are equal. */
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

/** Identifies a finding: hex SHA-256 of its type, path, line and normalised text. */
export function findingFingerprint(type: string, text: string, metadata: Metadata | undefined): string {
  const path = typeof metadata?.["path"] === "string" ? metadata["path"] : "";
  const line = typeof metadata?.["line"] === "number" ? metadata["line"] : "";
  return createHash("sha256")
    .update(JSON.stringify([type, path, line, normalisedText(text)]))
    .digest("hex");
}
