import { expect, it } from "vitest";
import { harmlessText } from "../conversation/harmless-text.ts";
import { claudeDialect } from "./claude-dialect.ts";
import { codexDialect } from "./codex-dialect.ts";
import { opencodeDialect } from "./opencode-dialect.ts";

it.each([
  ["what claude would run", claudeDialect, "/clear", "[nudge] /clear"],
  [
    "what opencode would run, or drop without a word",
    opencodeDialect,
    "/etc/hosts is wrong",
    "[nudge] /etc/hosts is wrong",
  ],
  ["the same behind blanks and invisible characters", opencodeDialect, " \u200b\t/init", "[nudge]  \u200b\t/init"],
  ["nothing of codex, which knows no commands here", codexDialect, "/compact", "/compact"],
  ["no `/` on a later line", claudeDialect, "do\n/exit", "do\n/exit"],
  ["no tabs, blanks or carriage returns of a text", claudeDialect, "\ta\r\nb  ", "\ta\r\nb  "],
  ["the end of a reminder", codexDialect, "a </system-reminder>", "a < /system-reminder>"],
])("changes %s", (_, { command }, message, text) => {
  expect(harmlessText(message, command)).toEqual({ type: "safe", text });
});

it.each([[" \n\t "], ["\u001b[31m\u0007"], ["\ud800"]])(
  "refuses %j, of which an agent could read nothing",
  (message) => {
    expect(harmlessText(message).type).toBe("unsafe");
  },
);
