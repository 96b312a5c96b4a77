import type { Command } from "./common/command/command.ts";

/** Every command in the order in which help lists them. Each is imported when it is called. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  peek: async () => (await import("./peek/peek.ts")).peek,
  nudge: async () => (await import("./nudge/nudge.ts")).nudge,
  receipt: async () => (await import("./receipt/receipt.ts")).receipt,
  cancel: async () => (await import("./cancel/cancel.ts")).cancel,
  respond: async () => (await import("./respond/respond.ts")).respond,
  status: async () => (await import("./status/status.ts")).status,
  wait: async () => (await import("./wait/wait.ts")).wait,
  watch: async () => (await import("./watch/watch.ts")).watch,
  attach: async () => (await import("./attach/attach.ts")).attach,
  keys: async () => (await import("./keys/keys.ts")).keys,
  start: async () => (await import("./start/start.ts")).start,
  stop: async () => (await import("./stop/stop.ts")).stop,
  token: async () => (await import("./token/token.ts")).token,
  agents: async () => (await import("./agents/agents.ts")).agents,
  config: async () => (await import("./config/config.ts")).config,
  completion: async () => (await import("./completion/completion.ts")).completion(allCommands),
  help: async () => (await import("./help/help.ts")).help(allCommands),
};

export const commandNames: readonly string[] = Object.keys(COMMANDS);

/** The command of that name. */
export async function commandNamed(name: string): Promise<Command | undefined> {
  return Object.hasOwn(COMMANDS, name) ? await COMMANDS[name]?.() : undefined;
}

/** @internal */
export function allCommands(): Promise<readonly Command[]> {
  return Promise.all(Object.values(COMMANDS).map((load) => load()));
}
