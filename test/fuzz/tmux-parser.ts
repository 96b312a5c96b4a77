import { type ControlEvent, ControlParser } from "../../internal/tmux/control/control-parser.ts";
import { type Random, randomFrom } from "./random.ts";

/** A generated stream of a control client, and its expected events. */
interface FuzzStream {
  readonly bytes: Buffer;
  readonly expected: readonly string[];
}

/** Lines that resemble the end of the block `guard` as much as possible without being it, and other confusing lines. */
function hostileLine(random: Random, guard: readonly [number, number, number]): string {
  const [time, number, flags] = guard;
  const word = random(2) === 0 ? "%end" : "%error";
  const full = `${time} ${number} ${flags}`;
  switch (random(16)) {
    case 0:
      return `${word} ${time} ${number + 1 + random(9)} ${flags}`;
    case 1:
      return `${word} ${time + 1} ${number} ${flags}`;
    case 2:
      return `${word} ${time} ${number} ${flags + 1}`;
    case 3:
      return `${word} ${full} `;
    case 4:
      return ` ${word} ${full}`;
    case 5:
      return `x${word} ${full}`;
    case 6:
      return `${word} ${full}\r`;
    case 7:
      return `${word} ${full}0`;
    case 8:
      return `${word}  ${full}`;
    case 9:
      return `%begin ${full}`;
    case 10:
      return `${word}${word} ${full}`;
    case 11:
      return "%exit too far behind";
    case 12:
      return `%output %0 ${word} ${full}`;
    case 13:
      return `${word} ${time} ${number}`;
    case 14:
      return "";
    default:
      return randomBytes(random, random(24));
  }
}

/** Any byte but LF, as a latin1 string. */
function randomBytes(random: Random, length: number): string {
  let bytes = "";
  for (let i = 0; i < length; i++) {
    const byte = random(256);
    bytes += String.fromCharCode(byte === 10 ? 37 : byte);
  }
  return bytes;
}

/** The stream of a seed: blocks with hostile bodies, notifications, strays. Byte strings are latin1. */
function fuzzStream(seed: number): FuzzStream {
  const random = randomFrom(seed);
  const expected: string[] = [];
  let text = "";
  for (let parts = 1 + random(5); parts > 0; parts--) {
    const kind = random(8);
    if (kind === 0) {
      const rest = `%${random(3)} ${randomBytes(random, random(8))}`;
      text += `%output ${rest}\n`;
      expected.push(`notification output ${Buffer.from(rest, "latin1").toString("utf8")}`);
    } else if (kind === 1) {
      text += "no tmux line\n";
      expected.push("stray no tmux line");
    } else {
      const guard = [1_795_000_000 + random(3), random(300), random(2)] as const;
      let body = "";
      for (let lines = random(5); lines > 0; lines--) body += `${hostileLine(random, guard)}\n`;
      const ok = random(4) > 0;
      text += `%begin ${guard.join(" ")}\n${body}${ok ? "%end" : "%error"} ${guard.join(" ")}\n`;
      expected.push(`block ${guard.join(" ")} ${ok} ${body}`);
    }
  }
  return { bytes: Buffer.from(text, "latin1"), expected };
}

function describeEvent(event: ControlEvent): string {
  switch (event.type) {
    case "block":
      return `block ${event.time} ${event.number} ${event.flags} ${event.ok} ${Buffer.from(event.bytes).toString("latin1")}`;
    case "notification":
      return `notification ${event.name} ${event.rest}`;
    case "exit":
      return `exit ${event.reason}`;
    case "stray":
      return `stray ${event.line}`;
    case "overflow":
      return `overflow ${event.part}`;
  }
}

/** Parses the stream of a seed, split at random bytes; undefined if all events are right, else the difference. */
export function checkTmuxStream(seed: number): string | undefined {
  const { bytes, expected } = fuzzStream(seed);
  const random = randomFrom(~seed);
  const largest = [1, 3, 16, 64, bytes.length + 1][random(5)] ?? 1;
  const parser = new ControlParser();
  const seen: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = 1 + random(largest);
    for (const event of parser.push(bytes.subarray(at, at + size))) seen.push(describeEvent(event));
    at += size;
  }
  const wrong = expected.findIndex((event, index) => event !== seen[index]);
  if (wrong < 0 && seen.length === expected.length) return undefined;
  const index = wrong < 0 ? expected.length : wrong;
  return `seed ${seed}, event ${index}: expected ${JSON.stringify(expected[index])}, got ${JSON.stringify(seen[index])}`;
}
