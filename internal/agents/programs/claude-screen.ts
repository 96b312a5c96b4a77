import type { BackgroundCount, ComposerView, ScreenView } from "../profile.ts";
import type { Screen, ScreenRun } from "../screen.ts";
import { isRule, lastRow, lineAt, ruleAbove, typedText } from "../screen-text.ts";
import { claudeDialog, isClaudeFooter, isWide } from "./claude-dialog.ts";

/** How far from the cursor the box's lines may be: a draft fills at most the screen. */
const REACH = 200;
const PASTE = /\[(?:Pasted text #\d+(?: \+\d+ lines)?|\.\.\.Truncated text #\d+[^\]]{0,40}\.\.\.|Image #\d+)\]/g;
/**
 * The colours of tips, hints and times. The composer's text has the terminal's default colour; grey letters in it are
 * the rest of a tip that the row showed earlier: 2.1.197 leaves such letters behind characters whose width it counts
 * differently.
 */
const GREY = /^(?:8|23[89]|24\d|#([4-9a-b][0-9a-f])\1\1)$/i;
const LETTER = /[\p{L}\p{N}]/u;
const SPINNER = /^[·✢✳✶✻✽*∗] \S[^…]{0,80}…/;
const INTERRUPT = /\besc to interrupt\b/;
/** The title while Claude Code is working; a static title means nothing, so this shows busy and never idle. */
const BUSY_TITLE = /^[⠀-⣿◐◑◒◓] /u;
/**
 * The last row of a turn that has ended while something that it started continues, and the status row. Claude Code
 * keeps both up to date.
 */
const WAITING = /^[·✢✳✶✻✽*∗] Waiting for (\d{1,3}) background agents? to finish$/;
const STATUS_SHELLS = /(?:^ {2}| · )(\d{1,3}) shells?(?= · |$)/;
const PARKED = /(?:usage|session|weekly|rate) limit (?:reached|hit)|hit your (?:\w+ )?limit/i;

/**
 * Reads Claude Code's screen. The composer is the box between the two full-width lines around the cursor. Only the box,
 * the rows below it and the block right above it count, so that nothing in the transcript can imitate them.
 */
export function claudeView(screen: Screen): ScreenView {
  const composer = composerBox(screen);
  if (composer === undefined) {
    const dialog = claudeDialog(screen);
    return { dialog };
  }
  const above = aboveComposer(screen, composer.top - 2);
  // While sub-agents run, the title spins although the turn has ended.
  const title = above.agents === undefined ? titleMark(screen) : undefined;
  const busy = above.spinner ?? statusMark(screen, composer.bottom + 2) ?? title;
  const background = [...shellsBelow(screen, composer.bottom + 2), ...(above.agents ?? [])];
  return {
    composer,
    busy,
    parked: above.parked,
    parkedRow: above.parkedRow,
    background: background.length === 0 ? undefined : background,
  };
}

function composerBox(screen: Screen): ComposerView | undefined {
  const upper = ruleAbove(screen, screen.cursorY - 1, REACH);
  if (upper < 0 || !isWide(screen, upper) || !/^[❯!](?:\s|$)/.test(lineAt(screen, upper + 1))) return undefined;
  let lower = screen.cursorY + 1;
  while (lower < screen.rows && !isRule(lineAt(screen, lower))) lower += 1;
  if (lower >= screen.rows || !isWide(screen, lower)) return undefined;
  for (let row = lower + 1; row <= lastRow(screen); row += 1) if (isClaudeFooter(screen, row)) return undefined;
  const lines = screen.lines.slice(upper + 1, lower);
  const isPlain = lines.some(({ runs }) => runs.some(({ text, fg }) => fg === "default" && LETTER.test(text)));
  const isLeft = ({ fg }: ScreenRun) => isPlain && GREY.test(fg);
  const rows = lines.map((line) => typedText(line, isLeft).replace(/^(?:[❯!]\s?|\s{1,2})/, ""));
  // In shell mode the mark itself was typed.
  const shell = lineAt(screen, upper + 1).startsWith("!") ? "!" : "";
  const text = `${shell}${rows.join("\n")}`.trimEnd();
  return { top: upper + 1, bottom: lower - 1, text, pasteMarkers: text.match(PASTE)?.length ?? 0 };
}

interface Above {
  readonly spinner?: string | undefined;
  readonly parked?: string;
  readonly parkedRow?: string | undefined;
  readonly agents?: readonly BackgroundCount[];
}

/**
 * The block right above the composer, read upwards: hints and queued messages are indented or begin with `❯`, the
 * spinner begins at the first column. The first other row at the first column ends it.
 */
function aboveComposer(screen: Screen, from: number): Above {
  let spinner: string | undefined;
  let sawQueue = false;
  for (let row = from; row >= Math.max(0, from - 40); row -= 1) {
    const text = lineAt(screen, row);
    if (SPINNER.test(text)) spinner ??= text.split("…", 1)[0]?.slice(0, 60);
    else if (/^ {2}(?:❯\s|⎿ +Queued\b)/.test(text)) sawQueue = true;
    else if (text.trim() === "" || /^\s/.test(text)) continue;
    else if (!(/^❯\s/.test(text) && sawQueue && spinner !== undefined))
      return { spinner, ...parkedIn(text), ...agentsIn(text) };
  }
  return { spinner };
}

function parkedIn(text: string): Pick<Above, "parked" | "parkedRow"> {
  const match = text.length < 400 ? PARKED.exec(text) : null;
  return match === null ? {} : { parked: match[0], parkedRow: /\bresets\b/.test(text) ? text : undefined };
}

function agentsIn(text: string): { readonly agents?: readonly BackgroundCount[] } {
  const match = WAITING.exec(text);
  return match === null ? {} : { agents: [{ kind: "subagent", count: Number(match[1]) }] };
}

function shellsBelow(screen: Screen, from: number): readonly BackgroundCount[] {
  for (let row = from; row <= lastRow(screen); row += 1) {
    const match = STATUS_SHELLS.exec(lineAt(screen, row));
    if (match !== null) return [{ kind: "shell", count: Number(match[1]) }];
  }
  return [];
}

function statusMark(screen: Screen, from: number): string | undefined {
  for (let row = from; row <= lastRow(screen); row += 1) {
    const match = INTERRUPT.exec(lineAt(screen, row));
    if (match !== null) return match[0];
  }
  return undefined;
}

function titleMark(screen: Screen): string | undefined {
  return BUSY_TITLE.test(screen.title) ? "title" : undefined;
}
