import type { PeekResult } from "../../../internal/session/types.ts";
import { type CommandContext, type FoundAgent, withAgent } from "../common/command-context.ts";
import { followLines } from "../common/follow.ts";
import { jsonText } from "../common/json-text.ts";
import type { PeekCommand } from "../config.ts";

const FOLLOW_INTERVAL_MS = 100;

/** `gt peek`: the last lines of an agent's terminal. */
export function peek(command: PeekCommand, context: CommandContext): Promise<number> {
  return withAgent(command.place, command.agent, context, async (found) => {
    if (command.follow) {
      const { lines, ansi } = command;
      return await followLines(found, { lines, ansi, intervalMs: FOLLOW_INTERVAL_MS }, context);
    }
    const { lines, all, ansi, join } = command;
    const result = await found.backend.peek({ lines, all, ansi, joinWrapped: join }, context.signal);
    if (command.json) context.out.line(jsonText(peekJson(result, found)));
    else print(result, command, context);
    return 0;
  });
}

function print(result: PeekResult, command: PeekCommand, { out, note }: CommandContext): void {
  if (result.output !== "") {
    if (command.ansi) out.styled(result.output);
    else out.plain(result.output);
    out.line();
  }
  if (!result.alive) note("the agent does not run any more: this is the last screen known");
  if (result.truncated) note("older lines were left out: the answer would have been larger than 3 MiB");
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
