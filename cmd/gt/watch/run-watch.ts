import { PrintableText } from "../../../internal/base/printable-text.ts";
import { isoTime } from "../../../internal/base/text/iso-time.ts";
import type { Given } from "../../../internal/cli/command/command.ts";
import type { CommandContext } from "../../../internal/cli/command/command-context.ts";
import type { WatchUpdate } from "../../../internal/session/types.ts";
import { type FoundAgent, withAgent } from "../../../internal/terminal/places/with-agent.ts";
import { followLines } from "../common/text/follow.ts";
import { watchAgain } from "../common/text/watch-again.ts";
import type { WatchFlags } from "./watch-flags.ts";
import { watchLive } from "./watch-live.ts";
import { readWatch, type WatchOptions } from "./watch-options.ts";

const DEFAULT_LINES = 50;

/** Redraws in place on a terminal, prints line by line elsewhere. */
export async function runWatch(given: Given<WatchFlags>, context: CommandContext): Promise<number> {
  const command = readWatch(given, context.env);
  return await withAgent(command.place, command.agent, context, (found) => {
    if (command.json) return watchJson(found, command, context);
    if (context.out.redraws) return watchLive(found, command, context);
    const { lines = DEFAULT_LINES, ansi, intervalMs } = command;
    return followLines(found, { lines, ansi, intervalMs }, context);
  });
}

async function watchJson(found: FoundAgent, command: WatchOptions, context: CommandContext): Promise<number> {
  const { lines = DEFAULT_LINES, ansi, intervalMs } = command;
  const { clock, signal, note } = context;
  const request = { mode: "screen", lines, intervalMs, ansi, epoch: "" } as const;
  const updates = watchAgain(found.backend, request, { clock, signal, lost: note, back: note });
  for await (const update of updates) context.out.line(PrintableText.json(updateJson(update)));
  return 0;
}

function updateJson(update: WatchUpdate): Record<string, unknown> {
  return {
    kind: update.kind,
    timestamp: isoTime(update.timestamp),
    alive: update.alive,
    output: update.output,
    cols: update.cols,
    rows: update.rows,
    alternate_screen: update.alternateScreen,
    cursor_x: update.cursorX,
    cursor_y: update.cursorY,
    epoch: update.epoch,
    offset: update.offset,
    gap: update.gap,
    end_reason: update.kind === "end" ? update.endReason : undefined,
  };
}
