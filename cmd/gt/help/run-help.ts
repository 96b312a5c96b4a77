import { takeArguments } from "../common/command/arguments.ts";
import type { Command, Given } from "../common/command/command.ts";
import type { CommandContext } from "../common/command/command-context.ts";
import { helpText } from "../common/command/help-text.ts";
import { unknownCommand } from "../common/command/unknown-command.ts";
import { overview } from "./overview.ts";

export async function runHelp(
  { positionals }: Given<Record<never, never>>,
  commands: readonly Command[],
  { out }: CommandContext,
): Promise<number> {
  const [topic] = takeArguments("help", positionals, [], ["command"]);
  const command = commands.find(({ name }) => name === topic);
  if (topic !== undefined && command === undefined) {
    throw unknownCommand(
      topic,
      commands.map(({ name }) => name),
    );
  }
  out.plain(command === undefined ? overview(commands) : helpText(command));
  return 0;
}
