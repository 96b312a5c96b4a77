import { quoteArgument } from "./quote.ts";

/** The maximum number of bytes for one command line. */
export const RAW_KEYS_MAX_BYTES = 4096;
/** tmux reads hexadecimal bytes in quadratic time: 256 bytes take 0.5 ms, 4096 take 80 ms. */
const HEX_PER_COMMAND = 128;
/** Shorter runs of text are not worth a command of their own. */
const MIN_TEXT = 8;
const TEXT_RUN = /[^\x00-\x1f\x7f-\x9f\ufffd]+/gu;

/**
 * The commands that pass bytes to a pane's program unchanged: no key names, no paste brackets, no change of encoding.
 * `data`: at most `RAW_KEYS_MAX_BYTES` bytes.
 */
export function rawKeysLine(paneId: string, data: Uint8Array): string {
  return piecesOf(Buffer.from(data.buffer, data.byteOffset, data.byteLength))
    .map((piece) => `send-keys -t ${paneId} ${piece}`)
    .join(" ; ");
}

/** Splits the bytes into runs of text, which are sent as text, and the rest, which is sent byte by byte. */
function piecesOf(data: Buffer): readonly string[] {
  const pieces: string[] = [];
  let at = 0;
  for (const run of textRuns(data)) {
    pieces.push(...hexPieces(data.subarray(at, run.start)), `-l -- ${quoteArgument(run.text)}`);
    at = run.end;
  }
  return [...pieces, ...hexPieces(data.subarray(at))];
}

function textRuns(data: Buffer): readonly { readonly start: number; readonly end: number; readonly text: string }[] {
  const runs = [];
  // Between runs of text each byte is one byte long in the decoded form too, unless it became U+FFFD, which may stand
  // for several bytes.
  const text = data.toString("utf8");
  let start = 0;
  let from = 0;
  for (const match of text.matchAll(TEXT_RUN)) {
    const between = text.slice(from, match.index);
    if (between.includes("\ufffd")) return [];
    start += Buffer.byteLength(between);
    const end = start + Buffer.byteLength(match[0]);
    if (match[0].length >= MIN_TEXT) runs.push({ start, end, text: match[0] });
    [start, from] = [end, match.index + match[0].length];
  }
  return text.slice(from).includes("\ufffd") ? [] : runs;
}

function hexPieces(data: Buffer): readonly string[] {
  const pieces: string[] = [];
  for (let at = 0; at < data.length; at += HEX_PER_COMMAND) {
    const bytes = [...data.subarray(at, at + HEX_PER_COMMAND)].map((byte) => byte.toString(16).padStart(2, "0"));
    pieces.push(`-H ${bytes.join(" ")}`);
  }
  return pieces;
}
