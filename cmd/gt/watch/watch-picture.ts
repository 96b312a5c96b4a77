import { PrintableText, printable } from "../../../internal/base/printable-text.ts";
import { plainText, styledText } from "../../../internal/base/sanitise.ts";
import { clipText, textWidth } from "../../../internal/base/text-width.ts";
import { clipStyled } from "../../../internal/cli/styled-width.ts";
import { durationText } from "../../../internal/cli/wording.ts";
import type { AgentStatus } from "../../../internal/session/agent-status.ts";
import type { WatchUpdate } from "../../../internal/session/types.ts";
import { type Paint, STATE_STYLES } from "../common/text/status-text.ts";

/** The current facts about an agent that is being watched. */
export interface Watched {
  readonly agent: string;
  readonly where: string;
  readonly picture: WatchUpdate | undefined;
  readonly status: AgentStatus | undefined;
  /** The reason why the picture is not updated; while it is not empty, the state is unknown. */
  readonly lost: string;
  /** A remark that does not affect the picture. */
  readonly remark: string;
}

export interface PictureOptions {
  readonly columns: number;
  /** The number of lines below the first. */
  readonly room: number;
  readonly ansi: boolean;
  readonly paint: Paint;
  /** Wall clock, ms. */
  readonly now: number;
}

/** One line about the agent, and below it the last lines of its terminal; each fits the columns. */
export function watchPicture(watched: Watched, options: PictureOptions): readonly PrintableText[] {
  const { columns, room, ansi } = options;
  const output = watched.picture?.output ?? "";
  const lines = output === "" ? [] : output.split("\n");
  const clip = ansi
    ? (line: string) => PrintableText.styled(clipStyled(styledText(expandTabs(line)), columns))
    : (line: string) => printable`${clipText(plainText(expandTabs(line)), columns)}`;
  return [headerLine(watched, options), ...lines.slice(-room).map(clip)];
}

function headerLine(watched: Watched, { columns, paint, now }: PictureOptions): PrintableText {
  const { status, picture, where, lost, remark } = watched;
  const agent = clipText(plainText(watched.agent), Math.max(0, columns - 20));
  const room = Math.max(0, columns - textWidth(agent) - 3);
  if (lost !== "") return printable`${paint("bold", agent)} · ${paint("yellow", clipText(plainText(lost), room))}`;
  const state = status?.state ?? (picture?.alive === false ? "dead" : "…");
  const since = status === undefined || status.stateSince <= 0 ? "" : ` ${durationText(now - status.stateSince)}`;
  const queue = status !== undefined && status.queueDepth > 0 ? ` · ${status.queueDepth} queued` : "";
  const more = remark === "" ? "" : ` · ${remark}`;
  const rest = clipText(plainText(`${since}${queue} · ${where}${more}`), Math.max(0, room - state.length - 1));
  const style = status === undefined ? "dim" : STATE_STYLES[status.state];
  return printable`${paint("bold", agent)} · ${paint(style, state)}${paint("dim", rest)}`;
}

function expandTabs(line: string): string {
  return line.replaceAll("\t", "    ");
}
