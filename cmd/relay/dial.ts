import { createLogger } from "../../internal/base/logger.ts";
import type { CommandContext } from "../../internal/cli/command/command-context.ts";
import { DialledAgent } from "../../internal/relay/door/dialled-agent.ts";
import type { DialCommand } from "./config.ts";

/** Keeps an agent connected until the signal; 0 then. */
export async function dial(command: DialCommand, { clock, signal }: CommandContext): Promise<number> {
  const { server, sessionId, role, agentId, command: argv, env } = command;
  const url = `${server}/acp/${sessionId}/${role}?agent_id=${agentId}`;
  const logger = createLogger("relay", "info", { component: "relay" });
  await new DialledAgent({ clock, logger }, { url, argv, env }).run(signal);
  return 0;
}
