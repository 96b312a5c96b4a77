import { describe, expect, it } from "vitest";
import { checkInteractive, interactiveArgs } from "./terminal-command.ts";

describe("the arguments of an agent program in a terminal", () => {
  it.each([
    ["claude", { resume: "a-1", model: "opus" }, ["--model", "opus", "--resume", "a-1"]],
    ["claude", { system_prompt: "be brief" }, ["--append-system-prompt", "be brief"]],
    [
      "codex",
      { resume: "a-1", sandbox: "read-only", system_prompt: 'say "yes"\n' },
      ["--sandbox", "read-only", "--config", 'developer_instructions="say \\"yes\\"\\n"', "resume", "a-1"],
    ],
    ["opencode", { resume: "ses-1", model: "p/m" }, ["--model", "p/m", "--session", "ses-1"]],
    ["demo", {}, []],
  ])("of %s with %j", (provider, options, args) => {
    expect(interactiveArgs(provider, [], options)).toEqual(args);
  });

  it.each([
    ["claude", ["--print", "--output-format", "stream-json", "--add-dir", "/x"], ["--add-dir", "/x"]],
    ["claude", ["--output-format=stream-json", "-p"], []],
    ["codex", ["--quiet", "--search"], ["--search"]],
  ])("of %s leave out options of its other modes: %j", (provider, configured, args) => {
    expect(interactiveArgs(provider, configured, {})).toEqual(args);
  });
});

describe("an option that a program does not have in a terminal", () => {
  it.each([
    ["codex", "raw", 'codex has no option "raw" in the mode terminal; its options there are model, sandbox,'],
    ["claude", "permission_mode", "its options there are model, resume, system_prompt"],
    ["demo", "raw", 'demo has no option "raw" in the mode terminal; its options there are resume'],
    ["demo", "toString", 'demo has no option "toString"'],
    ["__proto__", "raw", "it has none there"],
  ])("of %s is refused by its name: %s", (provider, option, message) => {
    expect(() => checkInteractive(provider, { [option]: "true" })).toThrow(message);
  });
});
