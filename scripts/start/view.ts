import { plainText } from "../../internal/base/sanitise.ts";
import { clipText, textWidth } from "../../internal/base/text-width.ts";
import { fitStyled } from "../../internal/cli/styled-width.ts";
import { durationText } from "../../internal/cli/wording.ts";
import type { AgentStatus } from "../../internal/session/agent-status.ts";
import type { AgentStateName } from "../../internal/session/types.ts";
import type { GtCommand } from "./gt-commands.ts";

/** The contents of the live view. */
export interface ViewModel {
  readonly columns: number;
  readonly rows: number;
  readonly colour: boolean;
  readonly address: string;
  readonly listen: string;
  /** Absent until the first answer. */
  readonly status: AgentStatus | undefined;
  /** The reason why there is no fresh status; empty if there is one. */
  readonly trouble: string;
  /** The agent's last lines, oldest first; plain or with SGR only. */
  readonly screen: readonly string[];
  /** The receipts, one line each, newest last. */
  readonly receipts: readonly string[];
  readonly commands: readonly GtCommand[];
  /** Wall clock, ms. */
  readonly now: number;
}

const MOST_RECEIPTS = 3;
/** The fewest rows of the agent's screen that the box shows. */
const SMALLEST_SCREEN = 4;
const TONES: Readonly<Record<AgentStateName, string>> = {
  starting: "36",
  idle: "32",
  busy: "36",
  dialog: "33",
  parked: "33",
  stopping: "2",
  dead: "31",
  "crash-loop": "31",
  stalled: "31",
  uncertain: "2",
};

/** Renders the whole window, line by line: at most `rows` lines, none wider than `columns`. */
export function renderView(model: ViewModel): string[] {
  const { columns, rows } = model;
  const head = headLines(model);
  const foot = footLines(model);
  const screenRows = Math.max(SMALLEST_SCREEN, rows - head.length - foot.length - 2);
  const lines = [...head, ...boxLines(model, screenRows), ...foot];
  return lines.slice(0, rows).map((line) => (textWidth(unstyled(line)) > columns ? fitStyled(line, columns) : line));
}

/**
 * The size of the agent's screen that fits the box in a window of this size. Around the screen are the header (2 rows),
 * the border (2), the receipts with their title, and the commands with their title and the footer (8).
 */
export function screenSize(columns: number, rows: number): { readonly cols: number; readonly rows: number } {
  const around = 2 + 2 + (2 + MOST_RECEIPTS) + 8;
  return { cols: Math.min(160, Math.max(40, columns - 4)), rows: Math.min(50, Math.max(10, rows - around)) };
}

function headLines(model: ViewModel): string[] {
  const { status, address, listen, now } = model;
  if (status === undefined) return [` ${style(model, "1", address)}  starting …`, ` ${dim(model, listen)}`];
  const since = status.stateSince > 0 ? ` for ${durationText(Math.max(0, now - status.stateSince))}` : "";
  const exit = status.alive || status.exitCode === undefined ? "" : `, exit code ${status.exitCode},`;
  const state = `${style(model, TONES[status.state], `${status.state}${exit}`)}${dim(model, since)}`;
  const up = dim(model, `up ${durationText(status.uptimeSeconds * 1000)} · ${listen} · pid ${status.agentPid}`);
  const first = status.evidence[0];
  const known =
    first === undefined ? "nothing yet" : `${plainText(first.value)} (${first.source}, ${first.confidence})`;
  const why = model.trouble === "" ? `known from: ${known}` : model.trouble;
  return [` ${style(model, "1", address)}  ${state}  ${up}`, ` ${dim(model, clipText(why, model.columns - 2))}`];
}

function boxLines(model: ViewModel, rows: number): string[] {
  const inner = Math.max(1, model.columns - 4);
  const shown = model.screen.slice(-rows);
  const edge = dim(model, "│");
  const filled = Array.from({ length: rows }, (_, row) => `${edge} ${fitStyled(shown[row] ?? "", inner)} ${edge}`);
  return [dim(model, `╭${"─".repeat(inner + 2)}╮`), ...filled, dim(model, `╰${"─".repeat(inner + 2)}╯`)];
}

function footLines(model: ViewModel): string[] {
  const receipts = model.receipts.slice(-MOST_RECEIPTS).map((line) => `   ${clipText(line, model.columns - 4)}`);
  const none = receipts.length === 0 ? [dim(model, "   none yet: the first nudge shows up here")] : [];
  const width = Math.max(...model.commands.map((one) => textWidth(one.command)));
  const wide = model.commands.every((one) => width + 5 + textWidth(one.what) <= model.columns);
  const commands = model.commands.map((one) => {
    const gap = " ".repeat(width - textWidth(one.command) + 2);
    return `   ${one.command}${wide ? dim(model, `${gap}${one.what}`) : ""}`;
  });
  const titles = [style(model, "1", " Receipts"), style(model, "1", " In another terminal")];
  return [titles[0] ?? "", ...receipts, ...none, titles[1] ?? "", ...commands, dim(model, " q quits")];
}

function unstyled(text: string): string {
  return text.replace(/\x1b\[[0-9;:]*m/g, "");
}

function style(model: ViewModel, code: string, text: string): string {
  return model.colour ? `\x1b[${code}m${text}\x1b[0m` : text;
}

function dim(model: ViewModel, text: string): string {
  return style(model, "2", text);
}
