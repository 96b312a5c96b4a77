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
const THREADS = {
  command: ["/opt/node", "/opt/gt.mjs", "threads", "mcp"],
  env: { GT_THREADS: "http://127.0.0.1:1", GT_THREADS_TOKEN_FILE: '/keys/a "b".token' },
} as const;
const withTools = (name: string, ...command: [string, ...string[]]) =>
  profileNamed(name).launch({ ...context(...command), threads: THREADS });
const launch = (name: string, ...command: [string, ...string[]]) => profileNamed(name).launch(context(...command));

describe("launch", () => {
  it.each(["claude", "codex", "opencode", "demo", "generic"])("of %s tells the agent where its hooks go", (name) => {
    const plan = launch(name, "program", "argument");
    expect(plan.argv).toEqual(["program", "argument"]);
    expect(plan.env).toMatchObject({ GT_HOOK_FIFO: "/state/hooks.fifo", GT_HOOK_DIR: "/state/hooks" });
    expect(plan.unsetEnv).toEqual(expect.arrayContaining(["TMUX", "TMUX_PANE"]));
  });

  it("of Claude Code adds settings with hooks to the person's, for this launch only", () => {
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

  it("of OpenCode adds a plugin through the environment and keeps what is there", () => {
    const plugin = "file:///state/it's%20here/opencode-plugin.js";
    const plan = launch("opencode", "opencode");
    expect(JSON.parse(plan.env["OPENCODE_CONFIG_CONTENT"] ?? "")).toEqual({ plugin: [plugin] });
    expect(Object.keys(plan.files)).toEqual(["/state/it's here/opencode-plugin.js"]);
    const merged = profileNamed("opencode").launch(inherits('{"model":"a/b","plugin":["mine"]}'));
    expect(JSON.parse(merged.env["OPENCODE_CONFIG_CONTENT"] ?? "")).toEqual({ model: "a/b", plugin: ["mine", plugin] });
  });

  it.each(["// comment\n{}", "[]", '{"plugin":"x"}'])(
    "of OpenCode does not touch settings that it cannot read: %j",
    (own) => {
      const plan = profileNamed("opencode").launch(inherits(own));
      expect(plan.env).not.toHaveProperty("OPENCODE_CONFIG_CONTENT");
      expect(plan.files).toEqual({});
    },
  );
});

describe("launch with the tools of threads", () => {
  it.each(["claude", "codex", "opencode", "demo", "generic"])("of %s tells gt in its shell where they are", (name) => {
    expect(withTools(name, "program").env).toMatchObject(THREADS.env);
    expect(launch(name, "program").env).not.toHaveProperty("GT_THREADS");
  });

  it("of Claude Code adds the server, and permission for its tools alone", () => {
    const { argv, files } = withTools("claude", "claude", "--continue");
    const [servers = "", settings = ""] = ["claude-mcp.json", "claude-settings.json"].map(
      (one) => `/state/it's here/${one}`,
    );
    expect(argv).toEqual(["claude", `--mcp-config=${servers}`, "--settings", settings, "--continue"]);
    const [command, ...args] = THREADS.command;
    const threads = { type: "stdio", command, args, env: THREADS.env, alwaysLoad: true };
    expect(JSON.parse(files[servers] ?? "")).toEqual({ mcpServers: { threads } });
    expect(JSON.parse(files[settings] ?? "").permissions).toEqual({ allow: ["mcp__threads"] });
    expect(JSON.parse(launch("claude", "claude").files[settings] ?? "")).not.toHaveProperty("permissions");
  });

  it("of Claude Code with settings of its own allows the tools by a flag", () => {
    const { argv, files } = withTools("claude", "claude", "--settings", "mine.json");
    const servers = "/state/it's here/claude-mcp.json";
    const flags = [`--mcp-config=${servers}`, "--allowedTools=mcp__threads"];
    expect(argv).toEqual(["claude", ...flags, "--settings", "mine.json"]);
    expect(Object.keys(files)).toEqual([servers]);
  });

  it("of Codex passes server, environment and approval as overrides for this launch", () => {
    const { argv } = withTools("codex", "codex", "resume");
    expect(argv.at(-1)).toBe("resume");
    const set = argv.filter((word) => word.startsWith("mcp_servers."));
    expect(set).toEqual([
      'mcp_servers.threads.command="/opt/node"',
      'mcp_servers.threads.args=["/opt/gt.mjs","threads","mcp"]',
      'mcp_servers.threads.env={GT_THREADS="http://127.0.0.1:1",GT_THREADS_TOKEN_FILE="/keys/a \\"b\\".token"}',
      'mcp_servers.threads.default_tools_approval_mode="approve"',
      "mcp_servers.threads.startup_timeout_sec=120",
    ]);
  });

  it.each([
    ["nothing", "", { "threads_*": "allow" }],
    ["a rule for all", '{"permission":"ask"}', { "*": "ask", "threads_*": "allow" }],
    ["rules", '{"permission":{"bash":"deny"}}', { bash: "deny", "threads_*": "allow" }],
  ])("of OpenCode allows the tools if its environment is %s", (_, own, permission) => {
    const plan = profileNamed("opencode").launch({ ...inherits(own), threads: THREADS });
    const config = JSON.parse(plan.env["OPENCODE_CONFIG_CONTENT"] ?? "");
    expect(config.permission).toEqual(permission);
    const { command, env: environment } = THREADS;
    expect(config.mcp).toEqual({ threads: { type: "local", command, environment, enabled: true, timeout: 120_000 } });
    expect(config.plugin).toHaveLength(1);
  });
});
