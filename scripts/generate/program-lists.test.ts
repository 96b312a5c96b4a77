import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { profileNames } from "../../internal/agents/known-programs.ts";
import { asCell, programLists, typedInto } from "./program-lists.ts";

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const page = read("docs/protocols/delivery.md");

it.each(Object.entries(programLists(read)))("%s lists every agent program", (path, text) => {
  expect(read(path)).toBe(text);
  for (const name of profileNames) expect(text).toContain(name);
});

it("shows the text that is typed into each program", () => {
  expect(page).toContain('| tab | `"a\\tb"` |');
  expect(typedInto("codex", "costs $x")).toBe('`"costs $x "`');
  expect(typedInto("claude", "costs $x")).toBe("as sent");
  expect(typedInto("claude", "\u200b")).toBe("UNSAFE");
});

it.each(profileNames)("lists each character that turns a message into a command for %s", (name) => {
  for (let code = 0x21; code < 0x7f; code++) {
    const message = `${String.fromCharCode(code)}x y`;
    if (typedInto(name, message) !== "as sent") expect(page).toContain(`| ${asCell(message)} |`);
  }
});
