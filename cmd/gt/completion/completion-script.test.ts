import { describe, expect, it } from "vitest";
import { allCommands } from "../commands.ts";
import { completionScript } from "./completion-script.ts";

const commands = await allCommands();

describe.each(["bash", "zsh", "fish"])("completion for %s", (shell) => {
  const script = completionScript(shell, commands);

  it("knows every command and every flag", () => {
    for (const { name, flags } of commands) {
      expect(script).toContain(name);
      for (const flag of Object.keys(flags)) expect(script).toMatch(new RegExp(`(--|-l )${flag}\\b`));
    }
  });

  it("asks gt for the agents", () => {
    expect(script).toContain("gt agents --quiet 2>/dev/null");
  });
});
