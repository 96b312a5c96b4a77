import { firstOf } from "../../../../internal/base/abort.ts";
import type { CommandContext } from "../../../../internal/cli/command/command-context.ts";
import type { WatchUpdate } from "../../../../internal/session/types.ts";
import type { FoundAgent } from "../../../../internal/terminal/places/with-agent.ts";
import { NewLines } from "./new-lines.ts";
import { watchAgain } from "./watch-again.ts";

export interface FollowLinesOptions {
  /** The number of existing lines to print first. */
  readonly lines: number;
  readonly ansi: boolean;
  readonly intervalMs: number;
}

/** The minimum number of lines in a snapshot; not larger, since the search for new lines takes quadratic time. */
const WINDOW_LINES = 500;
/** A line counts as finished once it is unchanged for this long. */
const SETTLE_MS = 400;

/** Prints the last lines, then each new one once, until the agent ends. */
export async function followLines(
  found: FoundAgent,
  options: FollowLinesOptions,
  context: CommandContext,
): Promise<number> {
  const { clock, signal, note } = context;
  const stream = new NewLines(SETTLE_MS);
  const request = {
    mode: "screen",
    lines: Math.max(WINDOW_LINES, options.lines),
    intervalMs: options.intervalMs,
    ansi: options.ansi,
    epoch: "",
  } as const;
  const updates = watchAgain(found.backend, request, { clock, signal, lost: note, back: note });
  try {
    let next = updates.next();
    for (let first = true; ; ) {
      const update = stream.pending ? await nextOrTick(next, clock, signal) : await next;
      const now = clock.monotonicMs();
      if (update === "tick") {
        print(stream.settled(now), options, context);
        continue;
      }
      if (update.done) return 0;
      const { kind } = update.value;
      if (kind === "snapshot" || kind === "change") {
        if (first) print(stream.begin(linesOf(update.value), update.value.rows, options.lines, now), options, context);
        else printNew(stream, update.value, now, options, context);
        first = false;
      }
      if (kind === "end") return ended(stream, update.value, options, context);
      next = updates.next();
    }
  } finally {
    await updates.return();
  }
}

async function nextOrTick<T>(
  next: Promise<T>,
  clock: CommandContext["clock"],
  signal: AbortSignal,
): Promise<T | "tick"> {
  return await firstOf<[T, "tick"]>(
    signal,
    () => next,
    (stop) => clock.sleep(SETTLE_MS, stop).then(() => "tick" as const),
  );
}

function printNew(
  stream: NewLines,
  update: WatchUpdate,
  now: number,
  options: FollowLinesOptions,
  context: CommandContext,
): void {
  const { lines, skipped } = stream.push(linesOf(update), update.rows, now);
  if (skipped) context.note("the agent printed faster than gt could follow: lines are missing here");
  print(lines, options, context);
}

function ended(stream: NewLines, update: WatchUpdate, options: FollowLinesOptions, context: CommandContext): number {
  print(stream.settled(Number.POSITIVE_INFINITY), options, context);
  context.note(`the terminal ended${update.endReason === "" ? "" : `: ${update.endReason}`}`);
  return 0;
}

function print(lines: readonly string[], options: FollowLinesOptions, { out }: CommandContext): void {
  for (const line of lines) {
    if (options.ansi) out.styled(line);
    else out.plain(line);
    out.line();
  }
}

function linesOf(update: WatchUpdate): readonly string[] {
  return update.output === "" ? [] : update.output.split("\n");
}
