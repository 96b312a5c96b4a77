import { describe, expect, it } from "vitest";
import { completionScript } from "./completion.ts";
import { COMMAND_FLAGS, COMMANDS } from "./flags.ts";

describe.each(["bash", "zsh", "fish"])("completion for %s", (shell) => {
  const script = completionScript(shell);

  it("knows every command and every flag", () => {
    for (const command of COMMANDS) {
      expect(script).toContain(command);
      for (const flag of Object.keys(COMMAND_FLAGS[command])) expect(script).toMatch(new RegExp(`(--|-l )${flag}\\b`));
    }
  });

  it("asks gt for the agents", () => {
    expect(script).toContain("gt agents --quiet 2>/dev/null");
  });
});
