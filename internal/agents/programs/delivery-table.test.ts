import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { profileNames } from "../known-programs.ts";
import { normalise } from "../safe-text.ts";
import { profileNamed } from "./registry.ts";

const page = await readFile(new URL("../../../docs/protocols/delivery.md", import.meta.url), "utf8");
const cells = (line: string) =>
  line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
const lines = page.split("\n");
const head = lines.findIndex((line) => line.startsWith("| message |"));
const [, ...agents] = cells(lines[head] ?? "").slice(1);
const end = lines.findIndex((line, i) => i > head && line === "");
const rows = lines.slice(head + 2, end).map(cells);

/** What is typed for a message, in the table's words. */
function typed(profile: string, message: string): string {
  const normal = normalise(message);
  const safe = normal.type === "safe" ? profileNamed(profile).defuse(normal.text) : normal;
  if (safe.type === "unsafe") return "UNSAFE";
  return safe.text === message ? "as sent" : escaped(safe.text);
}

const escaped = (text: string) =>
  `\`${JSON.stringify(text).replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)}\``;

describe("the table of what is made harmless", () => {
  it("has a column for each agent", () => {
    expect([...agents].sort()).toEqual([...profileNames].sort());
    expect(rows.length).toBeGreaterThan(20);
  });

  it.each(rows.map((row) => [row[1] ?? "", row] as const))("says what the code does with %s", (example, row) => {
    const message = JSON.parse(example.slice(1, -1)) as string;
    expect(agents.map((agent) => typed(agent, message))).toEqual(row.slice(2));
  });

  it("names each character that makes a command of a message", () => {
    for (const agent of agents) {
      for (let code = 0x21; code < 0x7f; code++) {
        const message = `${String.fromCharCode(code)}x y`;
        if (typed(agent, message) === "as sent") continue;
        expect(
          rows.some((row) => row[1] === escaped(message)),
          `${agent}: ${message}`,
        ).toBe(true);
      }
    }
  });
});
