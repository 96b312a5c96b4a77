import { DomainError } from "../../base/errors.ts";

/** One value of a DER encoding: a tag and what it holds. */
export interface DerValue {
  readonly tag: number;
  readonly content: Uint8Array;
  /** Tag and length included: what a signature covers. */
  readonly whole: Uint8Array;
}

const MULTI_BYTE_TAG = 0x1f;
const LONG_FORM = 0x80;

/**
 * The values that stand in `bytes` one after the other.
 * @throws DomainError `invalid` for anything that is not DER to the end: cut off, indefinite or overlong lengths, tags
 * of
 *   several bytes (nothing that is read here has them).
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
