/**
 * The tools of `threads` for an agent: an MCP server that the agent starts itself, and the variables by which that
 * finds its server and token.
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
 * How long Codex and OpenCode wait for the server to start, ms. A server that takes longer, as on a busy machine, is
 * left out for as long as the agent runs; OpenCode waits 5 s unless it is told otherwise.
 */
const START_LIMIT_MS = 120_000;

/** Claude Code's name for all tools of the server in permission rules. */
export const CLAUDE_RULE = `mcp__${THREADS_SERVER}`;

/** Claude Code's `--mcp-config`: the tools are listed from the start rather than found by its search for tools. */
export function claudeServers({ command: [command, ...args], env }: ThreadTools): string {
  const server = { type: "stdio", command, args, env, alwaysLoad: true };
  return `${JSON.stringify({ mcpServers: { [THREADS_SERVER]: server } }, null, 2)}\n`;
}

/**
 * Codex's `-c` overrides. Codex passes none of its environment to MCP servers, and asks before each tool without these
 * overrides.
 */
export function codexServer({ command: [command, ...args], env }: ThreadTools): readonly string[] {
  const table = Object.entries(env).map(([name, value]) => `${name}=${tomlText(value)}`);
  return [
    ["command", tomlText(command)],
    ["args", `[${args.map(tomlText).join(",")}]`],
    ["env", `{${table.join(",")}}`],
    ["default_tools_approval_mode", tomlText("approve")],
    ["startup_timeout_sec", String(START_LIMIT_MS / 1000)],
  ].flatMap(([key, value]) => ["-c", `mcp_servers.${THREADS_SERVER}.${key}=${value}`]);
}

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

/** A basic string of TOML, whose escapes include those of JSON. */
function tomlText(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007f");
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}
