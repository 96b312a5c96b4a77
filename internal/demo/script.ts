import type { TurnStep } from "./model.ts";

/** The source of random numbers for an answer: 0 ≤ n < 1. */
type Random = () => number;

const FILES = [
  "src/router.ts",
  "src/session.ts",
  "internal/queue.ts",
  "README.md",
  "test/router.test.ts",
  "src/config.ts",
];
const SYMBOLS = ["retryLimit", "openSession", "parseAddress", "drainQueue", "leaseHolder"];
const REMARKS = [
  "The retry loop had no upper bound; it has one now, and a test that fails without it.",
  "Two callers relied on the old order, so both orders are accepted and the old one is marked.",
  "Nothing else reads that field. It is gone, together with its parser.",
  "The time-out was counted in seconds in one place and in milliseconds in the other.",
  "Tests pass. The slowest one waits for a lease and takes 1.2 s.",
  "I left the public names as they are and moved the decision into one function.",
];
/** Answers are streamed in at most this many pieces. */
const MOST_PIECES = 24;
const MOST_LINES = 10_000;

/**
 * The steps of a turn on this message, its end included. Pure: the same message and random numbers give the same turn.
 */
export function planTurn(message: string, toolSteps: number, random: Random): TurnStep[] {
  const steps: TurnStep[] = Array.from({ length: toolSteps }, () => toolStep(random));
  const command = /\brun: *(.+)$/m.exec(message)?.[1];
  if (command !== undefined) steps.push({ type: "permission", command: command.trim() });
  const asked = /\bask: *([^|\n]+)\|([^\n]+)$/m.exec(message);
  if (asked !== null) {
    const choices = (asked[2] ?? "").split("|").map((choice) => choice.trim());
    steps.push({ type: "question", question: (asked[1] ?? "").trim(), choices });
  }
  return [...steps, ...pieces(answer(message, random)), { type: "end" }];
}

function toolStep(random: Random): TurnStep {
  const file = pick(FILES, random);
  const count = 3 + Math.floor(random() * 200);
  if (random() < 0.5) return { type: "tool", call: `Read(${file})`, result: `${count} lines` };
  if (random() < 0.5) return { type: "tool", call: `Search(${pick(SYMBOLS, random)})`, result: `${count} matches` };
  return { type: "tool", call: `Edit(${file})`, result: `+${1 + (count % 17)} -${count % 7}` };
}

function answer(message: string, random: Random): string {
  const wanted = /\blines: *(\d{1,5})\b/.exec(message)?.[1];
  if (wanted !== undefined) {
    const count = Math.min(MOST_LINES, Number(wanted));
    return Array.from({ length: count }, (_, index) => `line ${index + 1} of ${count}\n`).join("");
  }
  const words = message.trim().split(/\s+/).length;
  const first = `● Read your message (${words} word${words === 1 ? "" : "s"}).`;
  return `${first}\n  ${pick(REMARKS, random)}\n  ${pick(REMARKS, random)}\n`;
}

/** Cuts the answer between words (long ones between lines) into pieces that are printed one after the other. */
function pieces(text: string): TurnStep[] {
  const parts = text.length > 2000 ? text.split(/(?<=\n)/) : text.split(/(?<=\s)/);
  const size = Math.ceil(parts.length / MOST_PIECES);
  const out: TurnStep[] = [];
  for (let at = 0; at < parts.length; at += size) out.push({ type: "say", text: parts.slice(at, at + size).join("") });
  return out;
}

function pick(from: readonly string[], random: Random): string {
  return from[Math.floor(random() * from.length)] ?? "";
}
