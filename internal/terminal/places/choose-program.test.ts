import { describe, expect, it } from "vitest";
import { chooseProgram } from "./choose-program.ts";

const none = { currentCommand: "x", processes: [] };
const running = (currentCommand: string, ...words: string[]) => ({ currentCommand, processes: [{ pid: 7, words }] });

describe("the program in a pane", () => {
  it.each([
    [running("claude", "claude", "--resume"), "claude"],
    [running("node", "/usr/bin/node", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"), "claude"],
    [running("node", "node", "/usr/bin/codex"), "codex"],
    [running("codex", "/opt/codex"), "codex"],
    [running("opencode", "opencode"), "opencode"],
    [running("node", "node", "/src/cmd/demo-agent/main.ts"), "demo"],
    [{ ...none, named: "claude" }, "claude"],
    [{ ...none, currentCommand: "2.1.330" }, "claude"],
    [running("vim", "vim", "claude-notes.txt"), "generic"],
    [{ ...none, named: "unheard-of" }, "generic"],
  ])("%j is %s", (signs, profile) => {
    expect(chooseProgram(signs)).toMatchObject({ profile });
    expect(chooseProgram(signs)).not.toHaveProperty("absent");
  });

  it("is the agent's process below the shell that started it", () => {
    const processes = [
      { pid: 5, words: ["bash", "-c", "claude"] },
      { pid: 6, words: ["claude"] },
    ];
    expect(chooseProgram({ currentCommand: "claude", processes })).toMatchObject({ profile: "claude" });
  });

  it.each(["bash", "zsh", "-bash", "fish"])("is undefined while %s is in the foreground", (currentCommand) => {
    expect(chooseProgram({ ...running(currentCommand, currentCommand), named: "claude" })).toEqual({
      profile: "claude",
      absent: `${currentCommand} is running in the pane, and it is not an agent`,
    });
  });

  it.each([
    [["sh -c cat", "cat"], true],
    [["/bin/sh -c cat", "sh -c cat", "cat"], true],
    [["sh -c cat"], false],
    [["sh -c bash", "bash"], false],
    [["sh -c env", "env", "-zsh"], false],
    [["sh", "cat"], false],
    [["-sh", "cat"], false],
  ])("below %j, with the shell in the foreground, is an agent: %s", (lines, isThere) => {
    const processes = lines.map((line, i) => ({ pid: i + 5, words: line.split(" ") }));
    const choice = chooseProgram({ currentCommand: "sh", processes });
    expect(choice).toMatchObject({ profile: "generic" });
    expect(choice.absent === undefined).toBe(isThere);
  });

  it("is what the caller states", () => {
    expect(chooseProgram({ ...running("bash", "bash"), asked: "generic" })).toEqual({ profile: "generic" });
  });
});
