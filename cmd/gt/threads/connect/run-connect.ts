import { resolve } from "node:path";
import { printable } from "../../../../internal/base/printable-text.ts";
import { takeArguments, usageError } from "../../../../internal/cli/command/arguments.ts";
import type { Given } from "../../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import { printJson } from "../../../../internal/threads/client/show.ts";
import { threadsHere } from "../common/with-threads.ts";
import type { CONNECT_FLAGS } from "./connect-flags.ts";

type Env = Readonly<Record<string, string>>;

const HINT = "threads token --agent ADDRESS --file FILE writes and renews one";
const COMMAND = ["gt", "threads", "mcp"];

/** By agent program: the place of its MCP configuration, and the text to put there. */
const PROGRAMS: Readonly<Record<string, { readonly where: string; readonly text: (env: Env) => string }>> = {
  claude: {
    where: "a file for claude --mcp-config, with --allowedTools mcp__threads",
    text: (env) => pretty({ mcpServers: { threads: { type: "stdio", command: "gt", args: COMMAND.slice(1), env } } }),
  },
  codex: {
    where: "~/.codex/config.toml",
    text: (env) =>
      [
        "[mcp_servers.threads]",
        'command = "gt"',
        'args = ["threads", "mcp"]',
        'default_tools_approval_mode = "approve"',
        "",
        "[mcp_servers.threads.env]",
        ...Object.entries(env).map(([name, value]) => `${name} = ${JSON.stringify(value)}`),
      ].join("\n"),
  },
  opencode: {
    where: "~/.config/opencode/opencode.json",
    text: (environment) =>
      pretty({
        mcp: { threads: { type: "local", command: COMMAND, environment, enabled: true } },
        permission: { "threads_*": "allow" },
      }),
  },
};

function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

export async function runConnect(
  { values, positionals }: Given<typeof CONNECT_FLAGS>,
  context: CommandContext,
): Promise<number> {
  const [agent] = takeArguments("gt threads connect", positionals, [], ["agent"]);
  const { env, clock, out } = context;
  const file = values["token-file"];
  if (file === undefined) {
    throw usageError("gt threads connect", "--token-file is needed: every call has a token", HINT);
  }
  const { url, files } = threadsHere({ env: { ...env, GT_THREADS_TOKEN_FILE: file }, clock }, values);
  const own = { GT_THREADS: url, GT_THREADS_TOKEN_FILE: resolve(file), ...files };
  const shown = Object.entries(PROGRAMS).filter(([name]) => agent === undefined || name === agent);
  if (shown.length === 0) {
    throw usageError("gt threads connect", `${Object.keys(PROGRAMS).join(", ")}; not ${JSON.stringify(agent)}`);
  }
  for (const [name, { where, text }] of shown) {
    if (values.json) {
      printJson(out, { agent: name, where, text: text(own) });
      continue;
    }
    out.line(printable`${name}: ${where}`);
    for (const line of text(own).split("\n")) out.line(printable`  ${line}`);
  }
  return 0;
}
