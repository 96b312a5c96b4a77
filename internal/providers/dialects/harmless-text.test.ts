import { expect, it } from "vitest";
import { harmlessText } from "../conversation/harmless-text.ts";
import { claudeDialect } from "./claude-dialect.ts";
import { codexDialect } from "./codex-dialect.ts";
import { opencodeDialect } from "./opencode-dialect.ts";

it.each([
  ["a command of claude", claudeDialect, "/clear", "[nudge] /clear"],
  [
    "a command of opencode, or a text that it drops silently",
    opencodeDialect,
    "/etc/hosts is wrong",
    "[nudge] /etc/hosts is wrong",
  ],
  ["a command after blanks and invisible characters", opencodeDialect, " \u200b\t/init", "[nudge]  \u200b\t/init"],
  ["nothing for codex, which has no commands here", codexDialect, "/compact", "/compact"],
  ["no `/` on a later line", claudeDialect, "do\n/exit", "do\n/exit"],
  ["no tabs, blanks or carriage returns within a text", claudeDialect, "\ta\r\nb  ", "\ta\r\nb  "],
  ["the end of a reminder", codexDialect, "a </system-reminder>", "a < /system-reminder>"],
])("changes %s", (_, { command }, message, text) => {
  expect(harmlessText(message, command)).toEqual({ type: "safe", text });
});

it.each([[" \n\t "], ["\u001b[31m\u0007"], ["\ud800"]])("refuses %j, which would be empty for an agent", (message) => {
  expect(harmlessText(message).type).toBe("unsafe");
});
