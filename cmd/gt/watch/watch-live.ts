import { DomainError } from "../../../internal/base/errors.ts";
import type { PrintableText } from "../../../internal/base/printable-text.ts";
import type { CommandContext } from "../../../internal/cli/command/command-context.ts";
import type { AgentStatus } from "../../../internal/session/agent-status.ts";
import type { WatchUpdate } from "../../../internal/session/types.ts";
import type { FoundAgent } from "../../../internal/terminal/places/with-agent.ts";
import { LiveScreen } from "../common/text/live-screen.ts";
import { watchAgain } from "../common/text/watch-again.ts";
import type { WatchOptions } from "./watch-options.ts";
import { watchPicture } from "./watch-picture.ts";

const STATUS_EVERY_MS = 1000;
/** More lines than the tallest terminal shows. */
const MAX_LINES = 500;
/** The time that the notice of a restored connection is shown. */
const BACK_MS = 4000;

interface Live {
  picture: WatchUpdate | undefined;
  status: AgentStatus | undefined;
  /** The reason why the status call failed. */
  trouble: string;
  /** The message about a broken connection, until it is back. */
  lost: string;
  back: { readonly text: string; readonly at: number } | undefined;
}

/**
 * Shows the agent's terminal on the person's, redrawn in place until it ends. If the connection breaks, the picture
 * stays and a line above says so.
 */
export async function watchLive(found: FoundAgent, command: WatchOptions, context: CommandContext): Promise<number> {
  const { signal, stdout, clock } = context;
  const live: Live = { picture: undefined, status: undefined, trouble: "", lost: "", back: undefined };
  using screen = new LiveScreen(stdout);
  const draw = () => screen.draw(pictureOf(live, found, command, screen, context));
  const stop = new AbortController();
  const poll = pollStatus(found, live, draw, context, AbortSignal.any([signal, stop.signal]));
  stdout.on("resize", draw);
  try {
    const { ansi, intervalMs, lines = MAX_LINES } = command;
    const request = { mode: "screen", lines, intervalMs, ansi, epoch: "" } as const;
    const lost = (text: string) => {
      live.lost = text;
      draw();
    };
    const back = (text: string) => Object.assign(live, { lost: "", back: { text, at: clock.monotonicMs() } });
    for await (const update of watchAgain(found.backend, request, { clock, signal, lost, back })) {
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

/** Polls the state once a second: a picture arrives only when the screen changes. */
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

function pictureOf(
  live: Live,
  { agent, backend }: FoundAgent,
  command: WatchOptions,
  screen: LiveScreen,
  { out, clock }: CommandContext,
): readonly PrintableText[] {
  const { picture, status, trouble, lost, back } = live;
  const isBack = back !== undefined && clock.monotonicMs() - back.at < BACK_MS;
  const remark = isBack ? back.text : trouble;
  return watchPicture(
    { agent, where: backend.where, picture, status, lost, remark },
    {
      columns: screen.columns,
      room: Math.min(command.lines ?? Number.POSITIVE_INFINITY, screen.maxLines - 1),
      ansi: command.ansi,
      paint: (style, text) => out.paint(style, text),
      now: clock.now(),
    },
  );
}
