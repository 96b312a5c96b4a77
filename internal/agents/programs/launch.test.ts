import { describe, expect, it } from "vitest";
import type { LaunchContext } from "../profile.ts";
import { profileNamed } from "./registry.ts";

const context = (...command: [string, ...string[]]): LaunchContext => ({
  command,
  stateDir: "/state/it's here",
  hookFifo: "/state/hooks.fifo",
  hookDir: "/state/hooks",
  home: "/home/u",
});
const inherits = (own: string) => ({ ...context("opencode"), env: { OPENCODE_CONFIG_CONTENT: own } });
const launch = (name: string, ...command: [string, ...string[]]) => profileNamed(name).launch(context(...command));

describe("launch", () => {
  it.each(["claude", "codex", "opencode", "demo", "generic"])("of %s tells the agent where its hooks go", (name) => {
    const plan = launch(name, "program", "argument");
    expect(plan.argv).toEqual(["program", "argument"]);
    expect(plan.env).toMatchObject({ GT_HOOK_FIFO: "/state/hooks.fifo", GT_HOOK_DIR: "/state/hooks" });
    expect(plan.unsetEnv).toEqual(expect.arrayContaining(["TMUX", "TMUX_PANE"]));
  });

  it("of Claude Code lays settings with hooks over the person's, for this launch only", () => {
    const plan = launch("claude", "/opt/bin/claude", "--continue");
    const settings = "/state/it's here/claude-settings.json";
    expect(plan.argv).toEqual(["/opt/bin/claude", "--settings", settings, "--continue"]);
    expect(Object.keys(plan.files).sort()).toEqual([settings, "/state/it's here/hook.sh"].sort());
    const { tui, hooks } = JSON.parse(plan.files[settings] ?? "");
    expect(tui).toBe("default");
    expect(Object.keys(hooks)).toEqual(
      expect.arrayContaining(["SessionStart", "UserPromptSubmit", "Stop", "Notification"]),
    );
    expect(hooks.UserPromptSubmit[0].hooks[0].command).toBe("sh '/state/it'\\''s here/hook.sh' prompt-submitted spool");
    expect(plan.unsetEnv).toContain("CLAUDECODE");
  });

  it("of Claude Code finds the program behind env", () => {
    expect(launch("claude", "env", "A=1", "claude", "-c").argv.slice(0, 4)).toEqual([
      "env",
      "A=1",
      "claude",
      "--settings",
    ]);
  });

  it.each([[["claude", "--settings", "mine.json"]], [["claude", "--settings={}"]], [["my-wrapper"]]])(
    "of Claude Code leaves %j as it is",
    (command) => {
      const plan = launch("claude", ...(command as [string, ...string[]]));
      expect(plan.argv).toEqual(command);
      expect(plan.files).toEqual({});
    },
  );

  it("of Codex keeps the history, the process and the title", () => {
    const { argv } = launch("codex", "codex", "resume", "--last");
    expect(argv[0]).toBe("codex");
    expect(argv.slice(-2)).toEqual(["resume", "--last"]);
    expect(argv).toContain("features.daemon_auto_start=false");
    expect(argv).toContain('tui.alternate_screen="never"');
  });

  it("of OpenCode brings a plugin by the environment and keeps what is there", () => {
    const plugin = "file:///state/it's%20here/opencode-plugin.js";
    const plan = launch("opencode", "opencode");
    expect(JSON.parse(plan.env["OPENCODE_CONFIG_CONTENT"] ?? "")).toEqual({ plugin: [plugin] });
    expect(Object.keys(plan.files)).toEqual(["/state/it's here/opencode-plugin.js"]);
    const merged = profileNamed("opencode").launch(inherits('{"model":"a/b","plugin":["mine"]}'));
    expect(JSON.parse(merged.env["OPENCODE_CONFIG_CONTENT"] ?? "")).toEqual({ model: "a/b", plugin: ["mine", plugin] });
  });

  it.each(["// comment\n{}", "[]", '{"plugin":"x"}'])(
    "of OpenCode leaves settings alone that it cannot read: %j",
    (own) => {
      const plan = profileNamed("opencode").launch(inherits(own));
      expect(plan.env).not.toHaveProperty("OPENCODE_CONFIG_CONTENT");
      expect(plan.files).toEqual({});
    },
  );
});
