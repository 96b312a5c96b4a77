import { createLogger } from "../../internal/base/logger.ts";
import type { CommandContext } from "../../internal/cli/command/command-context.ts";
import { MarkedProcesses } from "../../internal/process/children/marked-processes.ts";
import { OrphanGuard } from "../../internal/process/children/orphan-guard.ts";
import { DialledAgent } from "../../internal/relay/door/dialled-agent.ts";
import type { DialCommand } from "./config.ts";

/** Keeps an agent connected until the signal; 0 then. */
export async function dial(command: DialCommand, { clock, signal }: CommandContext): Promise<number> {
  const { server, sessionId, role, agentId, command: argv, env } = command;
  const url = `${server}/acp/${sessionId}/${role}?agent_id=${agentId}`;
  const logger = createLogger("relay", "info", { component: "relay" });
  const channels = { clock, guard: new OrphanGuard(), marked: new MarkedProcesses(clock) };
  const deps = { ...channels, logger, onStderr: (chunk: Buffer) => process.stderr.write(chunk) };
  const defined = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
  const options = { url, argv, env: Object.fromEntries(defined), cwd: process.cwd() };
  await new DialledAgent(deps, options).run(signal);
  return 0;
}
