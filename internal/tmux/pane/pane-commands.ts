import { DomainError } from "../../base/errors.ts";
import { formatLiteral, quoteArgument, quoteShell } from "./quote.ts";
import { rawKeysLine } from "./raw-keys.ts";

const BUFFER = /^[A-Za-z0-9._-]{1,160}$/;
const PANE = /^%\d{1,10}$/;

/** The server prints one of these to report that a guarded line did its work, or the reason why it did not. */
export const DONE = "gt-done";
export const REFUSED = "gt-refused";
export const MOVED = "gt-moved";
export const SYNCHRONIZED = "gt-synchronized";

/** A place on the screen, from 0 at the top left. */
export interface CursorPlace {
  readonly x: number;
  readonly y: number;
}

/** @throws DomainError `invalid` */
export function checkBufferName(name: string): string {
  if (!BUFFER.test(name)) throw new DomainError("invalid", `not a buffer's name: ${JSON.stringify(name.slice(0, 40))}`);
  return name;
}

/** @throws DomainError `invalid` */
export function checkPaneId(id: string): string {
  if (!PANE.test(id)) throw new DomainError("invalid", `not a pane's id: ${JSON.stringify(id.slice(0, 40))}`);
  return id;
}

const DEAF = "#{||:#{pane_dead},#{pane_input_off}}";
const SHARED = "#{&&:#{pane_synchronized},#{!=:#{window_panes},1}}";

/**
 * A pane that is dead or has its input turned off silently drops input, and a paste into a dead one kills tmux 3.3a;
 * with `synchronize-panes`, keys for one pane reach the others of its window. So the server itself checks the pane and
 * acts in one step. It closes copy mode and the like first.
 */
function guarded(paneId: string, command: string): string {
  const why = quoteArgument(`#{?${DEAF},${REFUSED},${SYNCHRONIZED}}`);
  const words = [
    `if-shell -F -t ${paneId} ${quoteArgument(`#{||:${DEAF},${SHARED}}`)}`,
    quoteArgument(`display-message -p -t ${paneId} ${why}`),
    quoteArgument(`copy-mode -q -t ${paneId} ; ${command} ; display-message -p ${DONE}`),
  ];
  return words.join(" ");
}

/**
 * `-p`: tmux adds paste brackets if the pane's program asked for them; `-r`: line feeds stay line feeds; `-d`: the
 * buffer is deleted.
 */
export function pasteLine(paneId: string, buffer: string): string {
  return guarded(paneId, `paste-buffer -d -p -r -b ${checkBufferName(buffer)} -t ${paneId}`);
}

export function keysLine(paneId: string, names: readonly string[]): string {
  return guarded(paneId, `send-keys -t ${paneId} -- ${names.map(quoteArgument).join(" ")}`);
}

export function textLine(paneId: string, text: string): string {
  return guarded(paneId, `send-keys -t ${paneId} -l -- ${quoteArgument(text)}`);
}

export function rawLine(paneId: string, data: Uint8Array): string {
  return guarded(paneId, rawKeysLine(paneId, data));
}

/**
 * Sends a literal CR, because some releases translate the key `Enter` by the keyboard mode that the program asked for.
 * With `cursor`, sends it only while the cursor is there: then no output that the server has read, such as a dialog,
 * has moved the cursor.
 */
export function enterLine(paneId: string, cursor?: CursorPlace): string {
  return cursor === undefined ? textLine(paneId, "\r") : textAtLine(paneId, "\r", cursor);
}

/** Types a text, but only while the cursor is at `cursor`. */
export function textAtLine(paneId: string, text: string, cursor: CursorPlace): string {
  const press = textLine(paneId, text);
  const isThere = `#{&&:#{==:#{cursor_x},${cursor.x}},#{==:#{cursor_y},${cursor.y}}}`;
  const otherwise = `display-message -p ${MOVED}`;
  return `if-shell -F -t ${paneId} ${quoteArgument(isThere)} ${quoteArgument(press)} ${quoteArgument(otherwise)}`;
}

/**
 * The pipe's command is expanded as a format and by strftime, and then run by sh. It ends at once if the FIFO was
 * removed meanwhile; `>` would create a file.
 */
export function pipeLine(paneId: string, fifoPath: string): string {
  const fifo = quoteShell(fifoPath);
  const command = formatLiteral(`test -p ${fifo} && exec cat > ${fifo}`, { time: true });
  return `pipe-pane -O -t ${paneId} ${quoteArgument(command)}`;
}

export interface CaptureOptions {
  /** First line: 0 is the top of the screen, negative ones are above it, `-` is the oldest. Default 0. */
  readonly start?: number | "-";
  /** Last line, inclusive; `-` is the bottom of the screen. Default the bottom. */
  readonly end?: number | "-";
  /** Keep styling as escape sequences. */
  readonly escapes: boolean;
  /** Join rows that the terminal wrapped; this also keeps trailing blanks. */
  readonly join: boolean;
  /** The screen behind the alternate one; empty when there is none. */
  readonly savedScreen?: boolean;
}

/**
 * Captures into a buffer, because before tmux 3.6 `capture-pane -p` in a control client leaks the memory of the whole
 * capture.
 */
export function captureLine(paneId: string, buffer: string, options: CaptureOptions): string {
  const flags = [
    ...(options.escapes ? ["-e"] : []),
    ...(options.join ? ["-J"] : []),
    ...(options.savedScreen ? ["-a", "-q"] : []),
    ...(options.start === undefined ? [] : ["-S", String(options.start)]),
    ...(options.end === undefined ? [] : ["-E", String(options.end)]),
  ];
  return ["capture-pane", ...flags, "-b", checkBufferName(buffer), "-t", paneId].join(" ");
}

export function saveLine(buffer: string, path: string): string {
  return `save-buffer -b ${buffer} ${quoteArgument(formatLiteral(path))}`;
}
