import { spawn } from "node:child_process";
import { once } from "node:events";
import { delimiter, dirname } from "node:path";
import { text } from "node:stream/consumers";
import { nodeCommand } from "./agent-command.ts";

/**
 * A PATH whose first tmux is suitable. A number: there is none; the number is the exit code, and the reason has been
 * printed.
 */
export async function pathWithTmux(root: string, env: NodeJS.ProcessEnv): Promise<string | number> {
  const [program, ...args] = nodeCommand(root, "scripts/programs/ensure-tmux.ts");
  const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  const [output] = await Promise.all([text(child.stdout), once(child, "close")]);
  if (child.exitCode !== 0) return child.exitCode ?? 1;
  const folder = dirname(output.trim());
  const path = env["PATH"] ?? "";
  return path.split(delimiter).includes(folder) ? path : `${folder}${delimiter}${path}`;
}
