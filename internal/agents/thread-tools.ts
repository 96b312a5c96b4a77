/**
 * The tools of `threads` for an agent: an MCP server that the agent itself starts, and the variables that tell this MCP
 * server where `threads` is and which token to use.
 */
export interface ThreadTools {
  /** Program and arguments of `gt threads mcp`. */
  readonly command: readonly [string, ...string[]];
  /** For the MCP server and for `gt threads` in the agent's own shell. */
  readonly env: Readonly<Record<string, string>>;
}

/** The MCP server's name; agents put it before the names of its tools. */
const THREADS_SERVER = "threads";

/**
 * How long Codex and OpenCode wait for the server to start, ms. If the server takes longer, the agent runs without it
 * until the agent is restarted. OpenCode's own default, 5 s, is too short on a busy machine.
 */
const START_LIMIT_MS = 120_000;

/** Claude Code's name for all tools of the server in permission rules. */
export const CLAUDE_TOOLS_RULE = `mcp__${THREADS_SERVER}`;

/** Claude Code's arguments that add the tools and permit their use; they need no file. */
export function claudeArgs(tools: ThreadTools): readonly string[] {
  const servers = JSON.stringify(JSON.parse(claudeMcpConfig(tools)));
  return [`--mcp-config=${servers}`, `--allowedTools=${CLAUDE_TOOLS_RULE}`];
}

/** Claude Code's `--mcp-config`: the tools are listed from the start rather than found by its search for tools. */
export function claudeMcpConfig({ command: [command, ...args], env }: ThreadTools): string {
  const server = { type: "stdio", command, args, env, alwaysLoad: true };
  return `${JSON.stringify({ mcpServers: { [THREADS_SERVER]: server } }, null, 2)}\n`;
}

/**
 * Codex's `-c` overrides. Codex passes none of its environment to MCP servers, and, without these overrides, asks
 * before each tool call.
 */
export function codexArgs({ command: [command, ...args], env }: ThreadTools): readonly string[] {
  const table = Object.entries(env).map(([name, value]) => `${name}=${tomlText(value)}`);
  return [
    ["command", tomlText(command)],
    ["args", `[${args.map(tomlText).join(",")}]`],
    ["env", `{${table.join(",")}}`],
    ["default_tools_approval_mode", tomlText("approve")],
    ["startup_timeout_sec", String(START_LIMIT_MS / 1000)],
  ].flatMap(([key, value]) => ["-c", `mcp_servers.${THREADS_SERVER}.${key}=${value}`]);
}

/** The variable with settings that OpenCode merges over those in the user's files. */
export const OPENCODE_CONFIG = "OPENCODE_CONFIG_CONTENT";

/**
 * OpenCode's settings with the server and the permission for its tools added. The rule comes last because the last
 * match counts.
 */
export function withOpencodeServer(
  config: Readonly<Record<string, unknown>>,
  { command, env }: ThreadTools,
): Readonly<Record<string, unknown>> {
  const { mcp, permission } = config;
  const own = typeof permission === "string" ? { "*": permission } : objectOf(permission);
  return {
    ...config,
    mcp: {
      ...objectOf(mcp),
      [THREADS_SERVER]: { type: "local", command, environment: env, enabled: true, timeout: START_LIMIT_MS },
    },
    permission: { ...own, [`${THREADS_SERVER}_*`]: "allow" },
  };
}

/** Like `withOpencodeServer`, for settings as JSON text. A text that is not a JSON object is returned unchanged. */
export function opencodeConfig(own: string | undefined, tools: ThreadTools): string {
  const config = parsedObject(own?.trim() || "{}");
  return config === undefined ? (own ?? "") : JSON.stringify(withOpencodeServer(config, tools));
}

/** The object of a JSON text; undefined if the text is not a JSON object. */
export function parsedObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** A basic string of TOML, whose escapes include those of JSON. */
function tomlText(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007f");
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}
