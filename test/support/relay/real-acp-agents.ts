import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeAgentHome } from "../agents/agents-home.ts";
import { agentProgram } from "../agents/agents-install.ts";

export type AcpAgent = "codex-acp" | "claude-agent-acp";

export interface RealAcpAgent {
  readonly command: readonly [string, ...string[]];
  readonly workdir: string;
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string>>;
}

const ENTRIES: Readonly<Record<AcpAgent, string>> = {
  "codex-acp": "@agentclientprotocol/codex-acp/dist/index.js",
  "claude-agent-acp": "@agentclientprotocol/claude-agent-acp/dist/index.js",
};

/** A common agent that speaks ACP over stdio, and talks only to the model server. `dir`: an empty folder. */
export async function realAgent(name: AcpAgent, dir: string, modelUrl: string): Promise<RealAcpAgent> {
  const isClaude = name === "claude-agent-acp";
  const program = await agentProgram(isClaude ? "claude-2.1.330" : "codex-0.169.0");
  const { env, workdir } = await makeAgentHome({ agent: isClaude ? "claude" : "codex", dir, modelUrl });
  const entry = fileURLToPath(new URL(`../../agents/node_modules/${ENTRIES[name]}`, import.meta.url));
  // By default both ask a model of their own whether a command may run; here a person is asked.
  if (isClaude) await writeSettings(env["HOME"] ?? "");
  const codex = { CODEX_PATH: program, NO_BROWSER: "1", INITIAL_AGENT_MODE: "read-only" };
  const own = isClaude ? { CLAUDE_CODE_EXECUTABLE: program } : codex;
  return { command: [process.execPath, entry], workdir, env: { ...env, ...own } };
}

async function writeSettings(home: string): Promise<void> {
  await mkdir(join(home, ".claude"), { recursive: true });
  await writeFile(join(home, ".claude", "settings.json"), '{"permissions":{"defaultMode":"default"}}');
}
