import { PrintableText } from "../../../internal/base/printable-text.ts";
import type { Given } from "../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../internal/cli/command/command-context.ts";
import type { PeekResult } from "../../../internal/session/types.ts";
import { type FoundAgent, withAgent } from "../../../internal/terminal/places/with-agent.ts";
import type { PeekFlags } from "./peek-flags.ts";
import { type PeekOptions, readPeek } from "./peek-options.ts";

const FOLLOW_INTERVAL_MS = 100;

export async function runPeek(given: Given<PeekFlags>, context: CommandContext): Promise<number> {
  const command = readPeek(given, context.env);
  return await withAgent(command.place, command.agent, context, async (found) => {
    if (command.follow) {
      const { lines, ansi } = command;
      const { followLines } = await import("../common/text/follow.ts");
      return await followLines(found, { lines, ansi, intervalMs: FOLLOW_INTERVAL_MS }, context);
    }
    const { lines, all, ansi, join } = command;
    const result = await found.backend.peek({ lines, all, ansi, joinWrapped: join }, context.signal);
    if (command.json) context.out.line(PrintableText.json(peekJson(result, found)));
    else print(result, command, context);
    return 0;
  });
}

function print(result: PeekResult, command: PeekOptions, { out, note }: CommandContext): void {
  if (result.output !== "") {
    if (command.ansi) out.styled(result.output);
    else out.plain(result.output);
    out.line();
  }
  if (!result.alive) note("the agent is no longer running: this is its last known screen");
  if (result.truncated) note("older lines were left out: the response would have exceeded 3 MiB");
  const wanted = command.all || command.lines > result.rows;
  if (result.alternateScreen && wanted) note("the agent draws on the alternate screen: the terminal keeps no history");
}

function peekJson(result: PeekResult, { agent, backend }: FoundAgent): Record<string, unknown> {
  return {
    agent,
    where: backend.where,
    alive: result.alive,
    output: result.output,
    truncated: result.truncated,
    alternate_screen: result.alternateScreen,
    cols: result.cols,
    rows: result.rows,
    cursor_x: result.cursorX,
    cursor_y: result.cursorY,
    history_lines: result.historyLines,
    epoch: result.epoch,
    offset: result.offset,
  };
}
