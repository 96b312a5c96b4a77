import { expect, it } from "vitest";
import { DEFAULT_REDACT_PATTERNS, Redactor } from "../base/redact.ts";
import { lastWords } from "./last-words.ts";

const redactor = new Redactor([...DEFAULT_REDACT_PATTERNS, "CORP-[0-9]+"]);
const key = `ghp_${"k".repeat(36)}`;

it.each([
  ["nothing", " \n\t\n", ""],
  ["lines and escape sequences", "\x1b[31mError:\x1b[0m no licence\n  at start\n", ": Error: no licence at start"],
  ["secrets", "token=abc and CORP-1234\n", ": [redacted] and [redacted]"],
  ["a secret that begins before the cut", `${"x".repeat(290)} ${key} y`, `: ${"x".repeat(290)} [redacted…`],
  ["a character at the cut", `${"x".repeat(299)}😀`, `: ${"x".repeat(299)}…`],
])("are a bounded line of plain text without secrets: %s", (_, stderr, words) => {
  expect(lastWords(stderr, redactor)).toBe(words);
});
