import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { DomainError } from "../../internal/base/errors.ts";
import type { AgentName } from "./config.ts";

/**
 * The program and arguments of the agent. `root` is the clone.
 * @throws DomainError `unavailable` when Claude Code is not installed.
 */
export function agentCommand(agent: AgentName, root: string, path: string): readonly [string, ...string[]] {
  if (agent === "demo") return nodeCommand(root, "cmd/demo-agent/main.ts");
  for (const folder of path.split(delimiter)) {
    const program = join(folder, "claude");
    if (folder.startsWith("/") && isExecutable(program)) return [program];
  }
  throw new DomainError("unavailable", "Claude Code is not installed: there is no `claude` in PATH", {
    fields: { hint: "npm install --global @anthropic-ai/claude-code, then run `claude` once to log in" },
  });
}

/** The command line that runs a source file of the clone with this process's Node. */
export function nodeCommand(root: string, file: string): readonly [string, ...string[]] {
  const options = ["--disable-warning=ExperimentalWarning", "--import", join(root, "scripts/compile-cache.mjs")];
  return [process.execPath, ...options, join(root, file)];
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
