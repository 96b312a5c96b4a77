import { PrintableText, printable } from "../../../internal/base/printable-text.ts";
import { foldedLine } from "../../../internal/base/sanitise.ts";
import { clipText, textWidth } from "../../../internal/base/text-width.ts";
import { durationText } from "../../../internal/cli/wording.ts";
import type { AgentStatus } from "../../../internal/session/agent-status.ts";
import { behindText, type Paint, STATE_STYLES, type StatusRow } from "../common/text/status-text.ts";

interface Column {
  readonly head: string;
  readonly text: (row: StatusRow, now: number) => string;
  /** The column is left out if there is no room, the highest number first. Absent: never. */
  readonly expendable?: number;
  /** Longer texts are cut; `gt status AGENT` shows them in full. */
  readonly most?: number;
}

const COLUMNS: readonly Column[] = [
  { head: "AGENT", text: ({ agent }) => foldedLine(agent) },
  {
    head: "STATE",
    text: (row) => (row.type === "failed" ? "unreachable" : `${row.status.state}${behindText(row.status)}`),
  },
  { head: "FOR", text: (row, now) => (row.type === "failed" ? "" : since(row.status.stateSince, now)) },
  {
    head: "QUEUE",
    text: (row) => (row.type === "failed" || row.status.queueDepth === 0 ? "" : `${row.status.queueDepth}`),
  },
  { head: "WAITS FOR", text: waitsFor, most: 60 },
  { head: "PRINTED", text: (row, now) => (row.type === "failed" ? "" : printed(row.status, now)), expendable: 2 },
  { head: "WHERE", text: ({ where }) => foldedLine(where), expendable: 1 },
];

/**
 * One line for each agent, within `columns`: columns without content are left out, and expendable columns before any
 * text is cut. If there are several agents, a last line counts them. `now` is the wall clock, ms.
 */
export function statusTable(rows: readonly StatusRow[], now: number, columns: number, paint: Paint): PrintableText {
  const shown = columnsFor(rows, now, columns);
  const cells = rows.map((row) =>
    shown.map(({ text, most }) => clipText(text(row, now), most ?? Number.POSITIVE_INFINITY)),
  );
  const widths = shown.map(({ head }, i) => Math.max(head.length, ...cells.map((row) => textWidth(row[i] ?? ""))));
  const line = (texts: readonly string[]) => {
    const padded = texts.map((text, i) =>
      i === texts.length - 1 ? text : text + " ".repeat((widths[i] ?? 0) - textWidth(text)),
    );
    return clipText(padded.join("  "), columns).trimEnd();
  };
  const lines = rows.map((row, i) =>
    painted(row, line(cells[i] ?? []), cells[i]?.[0] ?? "", paint, (widths[0] ?? 0) + 2),
  );
  const counts = rows.length > 1 ? [paint("dim", clipText(counted(rows), columns))] : [];
  return PrintableText.lines([paint("dim", line(shown.map(({ head }) => head))), ...lines, ...counts]);
}

function columnsFor(rows: readonly StatusRow[], now: number, columns: number): readonly Column[] {
  let shown = COLUMNS.filter(({ head, text }) => head === "STATE" || rows.some((row) => text(row, now) !== ""));
  const width = () =>
    shown.reduce((sum, { head, text, most = Number.POSITIVE_INFINITY }) => {
      return sum + 2 + Math.max(head.length, ...rows.map((row) => Math.min(most, textWidth(text(row, now)))));
    }, -2);
  while (width() > columns) {
    const least = shown.reduce<Column | undefined>(
      (found, column) => ((column.expendable ?? 0) > (found?.expendable ?? 0) ? column : found),
      undefined,
    );
    if (least === undefined) break;
    shown = shown.filter((column) => column !== least);
  }
  return shown;
}

/** The line with the state's word in its colour, unless the line was cut before it. */
function painted(row: StatusRow, line: string, agent: string, paint: Paint, widthBefore: number): PrintableText {
  const state = row.type === "failed" ? "unreachable" : row.status.state;
  const at = agent.length + widthBefore - textWidth(agent);
  if (line.slice(at, at + state.length) !== state) return printable`${line}`;
  const style = row.type === "failed" ? "red" : STATE_STYLES[row.status.state];
  return printable`${line.slice(0, at)}${paint(style, state)}${line.slice(at + state.length)}`;
}

/** The event that the agent waits for before it takes a message, as far as that is known. */
function waitsFor(row: StatusRow): string {
  if (row.type === "failed") return foldedLine(row.reason);
  const { status } = row;
  if (status.dialog !== undefined) return foldedLine(`${status.dialog.kind}: ${status.dialog.title}`);
  switch (status.state) {
    case "dialog":
      return "a person";
    case "parked":
      return "its limit to end";
    case "crash-loop":
      return "its restart";
    case "dead":
      return status.exitCode === undefined ? "" : `nothing: exit code ${status.exitCode}`;
    default:
      return status.draft ? "a person's draft" : "";
  }
}

/** The largest unit suffices to show which state lasts long. */
function since(at: number, now: number): string {
  return at > 0 ? shortly(now - at) : "";
}

function printed({ lastOutputAt }: AgentStatus, now: number): string {
  return lastOutputAt === undefined ? "nothing yet" : `${shortly(now - lastOutputAt)} ago`;
}

function shortly(ms: number): string {
  if (ms < 1000) return "0 s";
  return durationText(Math.round(ms / 1000) * 1000)
    .split(" ", 2)
    .join(" ")
    .replace(/\.0 /, " ");
}

function counted(rows: readonly StatusRow[]): string {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const state = row.type === "failed" ? "unreachable" : row.status.state;
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  return `${rows.length} agents: ${[...counts].map(([state, count]) => `${count} ${state}`).join(", ")}`;
}
