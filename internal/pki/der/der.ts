import { DomainError } from "../../base/errors.ts";

/** One DER value: a tag and its content. */
export interface DerValue {
  readonly tag: number;
  readonly content: Uint8Array;
  /** The encoding with tag and length: the bytes that a signature covers. */
  readonly whole: Uint8Array;
}

const MULTI_BYTE_TAG = 0x1f;
const LONG_FORM = 0x80;

/**
 * The consecutive values in `bytes`.
 * @throws DomainError `invalid` unless all of `bytes` is DER: for a value that is cut off, an indefinite or overlong
 * length, a tag of several bytes (no format that is read here uses one)
 */
export function readDer(bytes: Uint8Array): DerValue[] {
  const values: DerValue[] = [];
  for (let at = 0; at < bytes.length; ) {
    const value = readOne(bytes, at);
    values.push(value);
    at += value.whole.length;
  }
  return values;
}

function readOne(bytes: Uint8Array, start: number): DerValue {
  const tag = bytes[start] ?? 0;
  const first = bytes[start + 1];
  if (first === undefined || (tag & MULTI_BYTE_TAG) === MULTI_BYTE_TAG) throw notDer();
  const extra = first < LONG_FORM ? 0 : first - LONG_FORM;
  const begin = start + 2 + extra;
  const length = first < LONG_FORM ? first : longLength(bytes.subarray(start + 2, begin), extra);
  const end = begin + length;
  if (end > bytes.length) throw notDer();
  return { tag, content: bytes.subarray(begin, end), whole: bytes.subarray(start, end) };
}

function longLength(digits: Uint8Array, count: number): number {
  if (count === 0 || count > 4 || digits.length < count || digits[0] === 0) throw notDer();
  const length = digits.reduce((sum, digit) => sum * 256 + digit, 0);
  if (length < LONG_FORM) throw notDer();
  return length;
}

function notDer(): DomainError {
  return new DomainError("invalid", "not DER");
}
