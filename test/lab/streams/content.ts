/** The size of one record, bytes. */
const RECORD_BYTES = 32;
const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/+*=";

/**
 * The output of the pane's program, as a function of the position: coloured, numbered lines, so that any 64 bytes of it
 * identify their position. No other record of the output is needed.
 */
export function contentAt(from: number, length: number): Buffer {
  const first = Math.floor(from / RECORD_BYTES);
  const last = Math.floor((from + length - 1) / RECORD_BYTES);
  const records = Buffer.allocUnsafe(Math.max(0, last - first + 1) * RECORD_BYTES);
  for (let index = first; index <= last; index++) writeRecord(records, (index - first) * RECORD_BYTES, index);
  const skip = from - first * RECORD_BYTES;
  return records.subarray(skip, skip + length);
}

function writeRecord(into: Buffer, at: number, index: number): void {
  into.write(`\x1b[3${index & 7}m`, at, "latin1");
  let rest = index;
  for (let digit = 16; digit >= 5; digit--) {
    into[at + digit] = 0x30 + (rest % 10);
    rest = Math.floor(rest / 10);
  }
  let mixed = (Math.imul(index, 0x9e3779b1) ^ (index >>> 7)) >>> 0;
  for (let i = 17; i < 30; i++) {
    into[at + i] = LETTERS.charCodeAt(mixed % LETTERS.length);
    mixed = (Math.imul(mixed, 1664525) + 1013904223) >>> 0;
  }
  into[at + 30] = 0x0d;
  into[at + 31] = 0x0a;
}

/** The position of the first of these bytes; undefined if they are too few. */
export function positionOf(bytes: Buffer): number | undefined {
  for (let at = bytes.indexOf("\x1b[3"); at >= 0; at = bytes.indexOf("\x1b[3", at + 1)) {
    const digits = /^\x1b\[3[0-7]m(\d{12})/.exec(bytes.toString("latin1", at, at + 17))?.[1];
    if (digits === undefined) continue;
    return Number(digits) * RECORD_BYTES - at;
  }
  return undefined;
}
