import { DomainError } from "../../internal/base/errors.ts";
import { plainText, styledText } from "../../internal/base/sanitise.ts";
import { clipText, textWidth } from "../../internal/base/text-width.ts";
import { clipStyled } from "../../internal/cli/styled-width.ts";
import { durationText } from "../../internal/cli/wording.ts";
import type { WatchUpdate } from "../../internal/pane/types.ts";
import type { AgentStatus } from "../../internal/terminal/backend.ts";
import { type CommandContext, type FoundAgent, withAgent } from "./command-context.ts";
import type { WatchCommand } from "./config.ts";
import { followLines } from "./follow.ts";
import { isoTime, jsonText } from "./json-text.ts";
import { LiveScreen } from "./live-screen.ts";
import { STATE_STYLES } from "./status-text.ts";
import { watchAgain } from "./watch-again.ts";

const DEFAULT_LINES = 50;
const STATUS_EVERY_MS = 1000;

/** `gt watch`: the terminal as it changes; redrawn in place on a tty, line by line elsewhere. */
export function watch(command: WatchCommand, context: CommandContext): Promise<number> {
  return withAgent(command.place, command.agent, context, (found) => {
    if (command.json) return watchJson(found, command, context);
    if (context.out.isTTY) return watchLive(found, command, context);
    const { lines = DEFAULT_LINES, ansi, intervalMs } = command;
    return followLines(found, { lines, ansi, intervalMs }, context);
  });
}

async function watchJson(found: FoundAgent, command: WatchCommand, context: CommandContext): Promise<number> {
  const { lines = DEFAULT_LINES, ansi, intervalMs } = command;
  const updates = watchAgain(found.backend, { mode: "screen", lines, intervalMs, ansi, epoch: "" }, context);
  for await (const update of updates) context.out.line(jsonText(updateJson(update)));
  return 0;
}

/** What the header line tells beside the picture. */
interface Live {
  picture: WatchUpdate | undefined;
  status: AgentStatus | undefined;
  trouble: string;
}

async function watchLive(found: FoundAgent, command: WatchCommand, context: CommandContext): Promise<number> {
  const { signal, stdout } = context;
  const live: Live = { picture: undefined, status: undefined, trouble: "" };
  using screen = new LiveScreen(stdout);
  const draw = () => screen.draw(frame(live, found, command, screen, context));
  const stop = new AbortController();
  const poll = pollStatus(found, live, draw, context, AbortSignal.any([signal, stop.signal]));
  stdout.on("resize", draw);
  try {
    const lines = command.lines ?? 500;
    const { ansi, intervalMs } = command;
    // The picture stays, and its first line says what is wrong with it.
    const note = (message: string) => {
      live.trouble = message;
      draw();
    };
    const request = { mode: "screen", lines, intervalMs, ansi, epoch: "" } as const;
    for await (const update of watchAgain(found.backend, request, { clock: context.clock, signal, note })) {
      live.trouble = "";
      if (update.kind === "end") return ended(update, context, screen);
      if (update.kind !== "heartbeat") live.picture = update;
      draw();
    }
    return 0;
  } finally {
    stdout.off("resize", draw);
    stop.abort();
    await poll;
  }
}

function ended(update: WatchUpdate, { note }: CommandContext, screen: LiveScreen): number {
  screen[Symbol.dispose]();
  note(`the terminal ended${update.endReason === "" ? "" : `: ${update.endReason}`}`);
  return 0;
}

/** The state beside the picture, asked once a second: a picture comes only when something changes. */
async function pollStatus(
  found: FoundAgent,
  live: Live,
  draw: () => void,
  context: CommandContext,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      live.status = await found.backend.status(signal);
      live.trouble = "";
    } catch (err) {
      if (signal.aborted) return;
      if (!(err instanceof DomainError)) throw err;
      live.trouble = err.message;
    }
    if (live.picture !== undefined) draw();
    await context.clock.sleep(STATUS_EVERY_MS, signal).catch(() => {});
  }
}

function frame(
  live: Live,
  found: FoundAgent,
  command: WatchCommand,
  screen: LiveScreen,
  context: CommandContext,
): readonly string[] {
  const { picture } = live;
  const header = headerLine(live, found, screen.columns, context);
  if (picture === undefined) return [header];
  const room = Math.min(command.lines ?? Number.POSITIVE_INFINITY, screen.maxLines - 1);
  const lines = picture.output === "" ? [] : picture.output.split("\n");
  const clip = command.ansi
    ? (line: string) => clipStyled(styledText(expandTabs(line)), screen.columns)
    : (line: string) => clipText(plainText(expandTabs(line)), screen.columns);
  return [header, ...lines.slice(-room).map(clip)];
}

function headerLine(live: Live, found: FoundAgent, columns: number, { out, clock }: CommandContext): string {
  const { status, picture } = live;
  const state = status?.state ?? (picture?.alive === false ? "dead" : "…");
  const since =
    status === undefined || status.stateSince <= 0 ? "" : ` ${durationText(clock.now() - status.stateSince)}`;
  const queue = status !== undefined && status.queueDepth > 0 ? ` · ${status.queueDepth} queued` : "";
  const trouble = live.trouble === "" ? "" : ` · ${live.trouble}`;
  const left = clipText(plainText(found.agent), Math.max(0, columns - 20));
  const right = clipText(
    plainText(`${since}${queue} · ${found.backend.where}${trouble}`),
    Math.max(0, columns - textWidth(left) - state.length - 4),
  );
  const style = status === undefined ? "dim" : STATE_STYLES[status.state];
  return `${out.paint("bold", left)} · ${out.paint(style, state)}${out.paint("dim", right)}`;
}

function expandTabs(line: string): string {
  return line.replaceAll("\t", "    ");
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
