import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { DEFAULT_REDACT_PATTERNS, Redactor } from "../../internal/base/redact.ts";
import type { Provider } from "../../internal/bridge/provider.ts";
import type { AgentLaunch } from "../../internal/desk/tools/desk-agent.ts";
import { removeTree } from "../../internal/files/remove-tree.ts";
import { runCommand } from "../../internal/process/run-command.ts";
import { createStdioProviders } from "../../internal/providers/stdio/create-providers.ts";
import { usableArgs } from "../../internal/providers/stdio/usable-args.ts";

/** The agent of one half. */
export interface AgentSetup {
  readonly agent: "claude" | "codex" | "opencode";
  /** The file of its program. */
  readonly program: string;
  /** The half's own folder; its program stores its data below it. */
  readonly home: string;
  readonly tmp: string;
  readonly cwd: string;
  readonly credentials: Readonly<Record<string, string>>;
  readonly path: string;
}

/** Options of a session, by agent program: the agent asks nothing, and may use only the door's tool. */
export const SESSION_OPTIONS: Readonly<Record<AgentSetup["agent"], Readonly<Record<string, string>>>> = {
  claude: {},
  codex: { permission_mode: "deny" },
  opencode: { permission_mode: "deny" },
};

/** The longest limit that a turn may have, since the turn's own limit also ends the start of its agent. */
const START_LIMIT_MS = 3_600_000;
/** The time that a program waits for an answer of the door. Then the program continues without the door's tool. */
const DOOR_LIMIT_MS = 600_000;

/**
 * A provider for one session, whose model is offered `read_file` through the door, or no tool without one. The token is
 * in files and the environment only.
 */
export function launchAgent(setup: AgentSetup, launch: AgentLaunch): Provider {
  const { agent, program, home, tmp, cwd, credentials, path } = setup;
  const { args, env } = LAUNCHES[agent](setup, launch);
  const plain = { PATH: path, HOME: home, TMPDIR: tmp, LANG: "C.UTF-8", NO_PROXY: "127.0.0.1,localhost" };
  const deps = {
    ...{ clock: systemClock, run: runCommand, redactor: new Redactor(DEFAULT_REDACT_PATTERNS), cwd, env: plain },
    // All variables of the credentials file, since each vendor calls its key differently.
    environmentOf: () => ({ ...credentials, ...plain, ...env }),
  };
  const usable = usableArgs(agent, args).args;
  const config = { binary: program, args: usable, startupTimeoutMs: START_LIMIT_MS };
  const provider = createStdioProviders(deps, { [agent]: config }).get(agent);
  if (provider === undefined) throw new DomainError("unavailable", `there is no agent ${agent}`);
  return provider;
}

/** Removes what `launchAgent` has written for a session that has ended. */
export function releaseAgent({ home }: Pick<AgentSetup, "home">, id: string): void {
  removeTree(folderPath(home, id), 3);
}

interface Launched {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const LAUNCHES: Readonly<Record<AgentSetup["agent"], (setup: AgentSetup, launch: AgentLaunch) => Launched>> = {
  claude({ home }, { id, door }) {
    const servers = door && {
      desk: { type: "http", url: door.url, headers: { Authorization: `Bearer ${door.token}` } },
    };
    const file = write(folderOf(home, id), "mcp.json", JSON.stringify({ mcpServers: servers ?? {} }));
    return {
      args: [
        ...["--tools", "", "--strict-mcp-config", "--mcp-config", file, "--setting-sources", ""],
        ...["--permission-mode", "dontAsk", ...(door ? ["--allowedTools", "mcp__desk__read_file"] : [])],
      ],
      env: {
        ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1", DISABLE_TELEMETRY: "1" },
        ENABLE_TOOL_SEARCH: "false",
        // With these, Claude Code answers its first request only once it has connected to the door.
        ...{
          MCP_CONNECTION_NONBLOCKING: "0",
          MCP_CONNECT_TIMEOUT_MS: `${DOOR_LIMIT_MS}`,
          MCP_TIMEOUT: `${DOOR_LIMIT_MS}`,
        },
      },
    };
  },

  codex({ home }, { id, door }) {
    const folder = folderOf(home, id);
    // Top-level keys must stand before the first table: ours come first, then what the half's own file says.
    write(folder, "config.toml", CODEX_KEYS + ownFile(home, ".codex/config.toml") + codexTables(door?.url));
    return { args: [], env: { CODEX_HOME: folder, ...(door && { CODEX_DESK_TOKEN: door.token }) } };
  },

  opencode({ home }, { id, door }) {
    const own = JSON.parse(ownFile(home, ".config/opencode/opencode.json") || "{}") as Record<string, unknown>;
    const mcp = door && {
      desk: {
        ...{ type: "remote", url: door.url, oauth: false, timeout: DOOR_LIMIT_MS },
        headers: { Authorization: `Bearer ${door.token}` },
      },
    };
    const config = {
      ...{ ...own, autoupdate: false, share: "disabled", mcp: mcp ?? {} },
      tools: { "*": false, ...(door && { desk_read_file: true }) },
      permission: { "*": "deny", ...(door && { desk_read_file: "allow" }) },
      // A title would cost another request to the model for each session, and no one reads it.
      agent: { ...(own["agent"] as object | undefined), title: { disable: true } },
    };
    const folder = folderOf(home, id);
    // OpenCode downloads a library for plugins, 100 MB, unless a lock file names that library. There are no plugins.
    mkdirSync(join(folder, "opencode", "node_modules"), { recursive: true });
    const lock = { packages: { "": { dependencies: { "@opencode-ai/plugin": "*" } } } };
    write(join(folder, "opencode"), "package-lock.json", JSON.stringify(lock));
    write(join(folder, "opencode"), "opencode.json", JSON.stringify(config));
    const off = {
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    };
    return { args: [], env: { XDG_CONFIG_HOME: folder, OPENCODE_DISABLE_DEFAULT_PLUGINS: "1", ...off } };
  },
};

const CODEX_KEYS = `approval_policy = "never"
sandbox_mode = "read-only"
web_search = "disabled"
check_for_update_on_startup = false
`;

/** The tables of Codex's configuration; without a door they name no MCP server. */
function codexTables(doorUrl: string | undefined): string {
  return CODEX_TABLES + (doorUrl === undefined ? "" : codexServer(doorUrl));
}

const CODEX_TABLES = `
[features]
shell_tool = false
unified_exec = false
view_image = false
goals = false
apps = false
plugins = false

[agents]
enabled = false

[tools]
experimental_request_user_input = { enabled = false }
update_plan = { enabled = false }
`;

function codexServer(doorUrl: string): string {
  return `
[mcp_servers.desk]
url = ${JSON.stringify(doorUrl)}
bearer_token_env_var = "CODEX_DESK_TOKEN"
required = true
startup_timeout_sec = ${DOOR_LIMIT_MS / 1000}
tool_timeout_sec = ${DOOR_LIMIT_MS / 1000}
default_tools_approval_mode = "approve"
`;
}

/** The text of a file that an operator has put into the half's HOME for the program, or nothing. */
function ownFile(home: string, name: string): string {
  const path = join(home, name);
  return existsSync(path) ? `${readFileSync(path, "utf8")}\n` : "";
}

function folderPath(home: string, id: string): string {
  return join(home, ".desk", id);
}

function folderOf(home: string, id: string): string {
  const folder = folderPath(home, id);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

function write(folder: string, name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}
