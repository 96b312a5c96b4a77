import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { installPackages } from "../install-packages.ts";

/** The agent programs of `test/agents/package.json`, by the name that recorded screens use. */
export type AgentProgram = "claude-2.1.330" | "claude-2.1.197" | "codex-0.169.0" | "opencode-1.18.33";

const folder = fileURLToPath(new URL("../../agents/", import.meta.url));

/**
 * The possible paths of each program's binary for this platform, below `test/agents/node_modules`; no binary needs Node
 * or an install script.
 */
function programPaths(): Readonly<Record<AgentProgram, readonly string[]>> {
  const cpu = process.arch;
  const os = process.platform;
  const target = `${cpu === "arm64" ? "aarch64" : "x86_64"}-${os === "darwin" ? "apple-darwin" : "unknown-linux-musl"}`;
  const claude = `@anthropic-ai/claude-code-${os}-${cpu}/claude`;
  return {
    "claude-2.1.330": [claude],
    "claude-2.1.197": [`claude-code-2-1-197/node_modules/${claude}`],
    "codex-0.169.0": [`@openai/codex-${os}-${cpu}/vendor/${target}/bin/codex`],
    "opencode-1.18.33": [`opencode-${os}-${cpu}/bin/opencode`],
  };
}

/**
 * The path of an agent program for tests; installs all of them first if they are missing (`npm ci`, about 1.4 GB on
 * disk and half a minute). If several test processes call this at the same time, one installs and the others wait.
 */
export async function agentProgram(name: AgentProgram): Promise<string> {
  await installPackages(folder);
  const found = programPaths()
    [name].map((path) => join(folder, "node_modules", path))
    .find((path) => existsSync(path));
  if (found === undefined)
    throw new Error(`no ${name} program for ${process.platform}-${process.arch} in test/agents/node_modules`);
  return found;
}
