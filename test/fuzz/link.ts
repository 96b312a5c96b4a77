import { isDeepStrictEqual } from "node:util";
import { parseControlAnswer, parseControlMessage } from "../../internal/sidecar/halves/halves-link-messages.ts";
import { mutate } from "./mutate.ts";
import { oneOf, randomFrom } from "./random.ts";

const MESSAGES = [
  ...[{ type: "alive" }, { type: "serving" }, { type: "renew" }, { type: "stop", graceMs: 5000, force: true }],
  ...[
    { type: "finish", exitCode: 137 },
    { type: "agent", pid: 4711 },
    { type: "session", id: 7, pid: 4711 },
  ],
  { type: "process", id: 9, pid: 4711, work: true },
].map((message) => Buffer.from(JSON.stringify(message))) as [Buffer, ...Buffer[]];
const ANSWERS = [
  ...[
    { type: "hello", tmux: "3.3a", agentId: "0-1-a", agent: "2.1.330" },
    { id: 7, session: "gone" },
  ],
  { id: 9, startTicks: 12_345, work: { cpuMs: 17, writtenBytes: 4096 } },
].map((answer) => Buffer.from(JSON.stringify(answer))) as [Buffer, ...Buffer[]];

/**
 * Parses one line for each end of the halves' link: an accepted line is one of our messages, and parses the same a
 * second time.
 */
export function checkLink(seed: number): string | undefined {
  const random = randomFrom(seed);
  const message = mutate(oneOf(random, MESSAGES), random).toString("utf8");
  const answer = mutate(oneOf(random, ANSWERS), random).toString("utf8");
  return stable(message, parseControlMessage) ?? stable(answer, parseControlAnswer);
}

function stable(line: string, parse: (line: string) => object | undefined): string | undefined {
  const first = parse(line);
  if (first === undefined) return undefined;
  const numbers = Object.values(first).filter((value) => typeof value === "number");
  if (!numbers.every((value) => Number.isSafeInteger(value) && value >= 0)) return `took ${JSON.stringify(first)}`;
  return isDeepStrictEqual(parse(JSON.stringify(first)), first)
    ? undefined
    : `read ${JSON.stringify(line)} in two ways`;
}
