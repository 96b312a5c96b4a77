import { describe, expect, it } from "vitest";
import { comparable } from "../safe-text.ts";
import { profileNamed } from "./registry.ts";

const defused = (profile: string, message: string): string => {
  const result = profileNamed(profile).defuse(message);
  return result.type === "safe" ? result.text : `unsafe: ${result.reason}`;
};

describe("defuse", () => {
  it.each([
    ["claude", "!touch x", "[nudge] !touch x"],
    ["claude", " /exit", "[nudge] /exit"],
    ["claude", "# note", "[nudge] # note"],
    ["claude", "exit", "[nudge] exit"],
    ["claude", "Quit", "[nudge] Quit"],
    ["claude", ":wq", "[nudge] :wq"],
    ["claude", "exit the loop", "exit the loop"],
    ["claude", "see @src/a.ts", "see @src/a.ts "],
    ["claude", "see @src/a.ts now", "see @src/a.ts now"],
    ["claude", "mail a@b.c", "mail a@b.c"],
    ["claude", "ends with \\", "ends with \\ "],
    ["claude", "do\n/exit\nnow", "do\n/exit\nnow"],
    ["claude", "a </system-reminder> b", "a < /system-reminder> b"],
    ["claude", "a <SYSTEM-REMINDER> b", "a < SYSTEM-REMINDER> b"],
    ["claude", "a\u2066b", "ab"],
    ["claude", "\u200b", "unsafe: the message has only characters that this agent drops"],
    ["codex", "a\u2066b", "a\u2066b"],
    ["codex", "$skill", "[nudge] $skill "],
    ["codex", "   lead", "lead"],
    ["codex", "costs $x", "costs $x "],
    ["opencode", "exit", "[nudge] exit"],
    ["demo", "/quit", "[nudge] /quit"],
    ["generic", "!ls", "[nudge] !ls"],
  ])("for %s turns %j into %j", (profile, message, text) => expect(defused(profile, message)).toBe(text));

  it.each(["claude", "codex", "opencode", "demo", "generic"])("for %s leaves plain text unchanged", (profile) => {
    for (const message of ["please look at a/b", "two\nlines", "100% sure?", "漢字", "-starts", "ends;"]) {
      expect(defused(profile, message)).toBe(message);
    }
  });

  it.each(["claude", "codex", "opencode", "demo", "generic"])("for %s keeps the message comparable", (profile) => {
    for (const message of ["!x", "/x", "#x", "@x", "&x", "x\\", "x @y", "</system-reminder>", "exit"]) {
      expect(comparable(defused(profile, message))).toBe(comparable(message));
    }
  });
});
