import { takeArguments } from "../common/command/arguments.ts";
import type { Command, Given } from "../common/command/command.ts";
import type { CommandContext } from "../common/command/command-context.ts";
import { completionScript } from "./completion-script.ts";

export async function runCompletion(
  { positionals }: Given<Record<never, never>>,
  commands: readonly Command[],
  { out }: CommandContext,
): Promise<number> {
  const [shell = ""] = takeArguments("completion", positionals, ["shell"]);
  out.plain(completionScript(shell, commands));
  return 0;
}
