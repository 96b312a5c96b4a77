import { readSync } from "node:fs";
import { crc32 } from "node:zlib";

const LF = 0x0a;
const BRACE = 0x7b;
const SPACE = 0x20;
const SUM_CHARS = 8;
const CHUNK_BYTES = 256 * 1024;
/**
 * The longest record: a message and its text, both escaped as JSON, are shorter.
 * @internal
 */
export const LINE_MAX_BYTES = 2 * 1024 * 1024;

/**
 * One line of the file: its JSON, or bytes that cannot be trusted. Both buffers are valid until the next line is
 * requested.
 */
export type JournalLine =
  | { readonly type: "record"; readonly json: string }
  /** Torn in the middle, altered, or longer than `LINE_MAX_BYTES`; `bytes` is its beginning. */
  | { readonly type: "damaged"; readonly bytes: Buffer };

/** A record as a line: CRC-32 of the JSON in eight hexadecimal digits, a space, the JSON, a line feed. */
export function journalLine(record: unknown): Buffer {
  const json = Buffer.from(JSON.stringify(record));
  const sum = crc32(json).toString(16).padStart(SUM_CHARS, "0");
  return Buffer.concat([Buffer.from(`${sum} `), json, Buffer.from("\n")]);
}

/**
 * The lines of an open file from its beginning, read piece by piece: it takes the memory of one line, however long the
 * file is. A last line without a line feed is left out. Lines without a checksum, which earlier versions wrote, are
 * records if no line with a checksum came before them.
 */
export function* readJournalLines(fd: number): Generator<JournalLine> {
  let hasSums = false;
  for (const bytes of readLines(fd)) {
    const line: JournalLine = bytes[0] === BRACE && !hasSums ? plainLine(bytes) : summedLine(bytes);
    hasSums ||= line.type === "record" && bytes[0] !== BRACE;
    yield line;
  }
}

const plainLine = (bytes: Buffer): JournalLine =>
  bytes.length > LINE_MAX_BYTES ? { type: "damaged", bytes } : { type: "record", json: bytes.toString("utf8") };

function summedLine(bytes: Buffer): JournalLine {
  const json = bytes.subarray(SUM_CHARS + 1);
  const sum = bytes.toString("latin1", 0, SUM_CHARS);
  const isWhole =
    bytes.length <= LINE_MAX_BYTES &&
    bytes[SUM_CHARS] === SPACE &&
    crc32(json).toString(16).padStart(SUM_CHARS, "0") === sum;
  return isWhole ? { type: "record", json: json.toString("utf8") } : { type: "damaged", bytes };
}

/** Keeps one byte more than LINE_MAX_BYTES of a line that is too long, and drops the rest of it. */
function* readLines(fd: number): Generator<Buffer> {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  const keep = (piece: Buffer): void => {
    const room = LINE_MAX_BYTES + 1 - pendingBytes;
    if (room <= 0) return;
    const kept = Buffer.from(piece.subarray(0, room));
    pending.push(kept);
    pendingBytes += kept.length;
  };
  for (let position = 0; ; ) {
    const read = readSync(fd, chunk, 0, CHUNK_BYTES, position);
    if (read === 0) return;
    position += read;
    let begin = 0;
    for (let end = chunk.indexOf(LF); end >= 0 && end < read; end = chunk.indexOf(LF, begin)) {
      keep(chunk.subarray(begin, end));
      yield pending.length === 1 && pending[0] !== undefined ? pending[0] : Buffer.concat(pending);
      pending = [];
      pendingBytes = 0;
      begin = end + 1;
    }
    keep(chunk.subarray(begin, read));
  }
}
