import { oneOf, type Random } from "./random.ts";

/** Values that break parsers: numbers at their bounds, names of prototypes, controls, half characters, nesting. */
const HOSTILE = [
  ...["-1", "1e999", "9007199254740993", "18446744073709551616", "0x10", "null", "true", "{}", "[]", '""', "NaN"],
  ...["__proto__", "constructor", "toString", "hasOwnProperty", "../../etc/passwd", "/", "..", "a/b", ".", "%s%n"],
  ...[
    "\0",
    "\r",
    "\n",
    "\x1b[2J",
    "\x7f",
    "\x9b",
    "\ud800",
    "\u202e",
    "\ufeff",
    "\u2028",
    "é",
    "漢",
    '"',
    "\\",
    "\\u0000",
  ],
  ...["[".repeat(300), '{"a":'.repeat(300), "x".repeat(5000), " ".repeat(300)],
] as const;
const HOSTILE_BYTES = HOSTILE.map((text) => Buffer.from(text)) as [Buffer, ...Buffer[]];

/** The input with one to four mutations; in one of eight cases unchanged. */
export function mutate(input: Buffer, random: Random): Buffer {
  if (random(8) === 0) return input;
  let bytes = input;
  for (let i = 1 + random(4); i > 0; i--) bytes = mutateOnce(bytes, random);
  return bytes;
}

function mutateOnce(bytes: Buffer, random: Random): Buffer {
  const at = random(bytes.length + 1);
  const end = Math.min(bytes.length, at + 1 + random(16));
  switch (random(8)) {
    case 0:
      return flipped(bytes, at, 1 << random(8));
    case 1:
      return flipped(bytes, at, random(256));
    case 2:
      return bytes.subarray(0, at);
    case 3:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]);
    case 4:
      return Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]);
    case 5:
      return Buffer.concat([bytes.subarray(0, at), randomBytes(random, 1 + random(16)), bytes.subarray(at)]);
    case 6:
      return Buffer.concat([bytes.subarray(0, at), oneOf(random, HOSTILE_BYTES), bytes.subarray(end)]);
    default:
      return valueReplaced(bytes, random);
  }
}

function flipped(bytes: Buffer, at: number, mask: number): Buffer {
  const copy = Buffer.from(bytes);
  if (at < copy.length) copy[at] = (copy[at] ?? 0) ^ mask;
  return copy;
}

/** Replaces one value of a JSON text, so that hostile values get past the JSON parser. */
function valueReplaced(bytes: Buffer, random: Random): Buffer {
  const text = bytes.toString("latin1");
  const values = [...text.matchAll(/:("(?:[^"\\]|\\.)*"|-?\d+|true|false|null)/g)];
  const value = values[random(Math.max(1, values.length))];
  if (value === undefined) return bytes;
  const hostile = oneOf(random, HOSTILE);
  const json = random(2) === 0 ? hostile : JSON.stringify(hostile);
  const from = (value.index ?? 0) + 1;
  const tail = bytes.subarray(from + (value[1]?.length ?? 0));
  return Buffer.concat([bytes.subarray(0, from), Buffer.from(json), tail]);
}

function randomBytes(random: Random, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random(256)));
}
