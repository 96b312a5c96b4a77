import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { NudgeOutcome } from "../../../internal/gen/gastown/v1/common_pb.ts";
import { NudgeMode, SidecarService } from "../../../internal/gen/gastown/v1/sidecar_pb.ts";
import { sidecarTransport } from "../../../internal/rpc/client/transport.ts";
import { until } from "../../support/sidecar/sidecar.ts";
import type { Bed } from "./bed.ts";
import { isSame } from "./judge.ts";
import { nameOf } from "./send.ts";
import type { Target } from "./targets.ts";

/** The answers to many concurrent callers, compared with the agent's messages. */
export interface CrowdFigures {
  readonly target: string;
  readonly mode: "wait-idle" | "immediate";
  readonly callers: number;
  readonly submitted: number;
  /** The number of submitted messages that arrived once and whole. */
  readonly whole: number;
  /** True if the agent took the messages in the order in which they were accepted. */
  readonly inOrder: boolean;
  /** The outcomes of the other messages, by name. */
  readonly others: Readonly<Record<string, number>>;
  readonly ms: number;
  /** The false receipts, one sentence each. */
  readonly notes: readonly string[];
}

export interface CrowdOptions {
  readonly callers: number;
  readonly mode: CrowdFigures["mode"];
  readonly sidecarProgram: string | undefined;
  readonly signal: AbortSignal;
}

const START_MS = 90_000;
const WAIT_MS = 300_000;

/** Has callers, each with its own connection, call at the same moment. */
export async function runCrowd(target: Target, options: CrowdOptions): Promise<CrowdFigures> {
  const { callers, mode, signal } = options;
  await using bed = await target.start(options.sidecarProgram);
  await bed.calm(signal, START_MS);
  const before = (await bed.quiet()).length;
  const messages = Array.from(
    { length: callers },
    (_, i) => `caller ${i} says: ${"word ".repeat(1 + (i % 7) * 20)}end ${i}`,
  );
  const startedAt = performance.now();
  const told = await Promise.all(messages.map((message, i) => callAlone(bed, `crowd-${i}`, message, mode)));
  const ms = performance.now() - startedAt;
  await bed.calm(signal, WAIT_MS);
  const wanted = told.filter((outcome) => outcome === NudgeOutcome.SUBMITTED).length;
  const count = async () => (await bed.receiver.received()).length - before;
  await until("every message", 20_000, async () => (await count()) >= wanted || undefined).catch(() => {});
  const received = (await bed.quiet()).slice(before);
  const notes: string[] = [];
  const places = messages.map((message, i) => {
    const found = received.flatMap((text, at) => (isSame(text, message) ? [at] : []));
    const should = told[i] === NudgeOutcome.SUBMITTED ? 1 : 0;
    if (found.length !== should)
      notes.push(`${target.name}, caller ${i} of ${callers}: reported ${told[i]}, arrived ${found.length}×`);
    return found[0];
  });
  const strange = received.filter((text) => !messages.some((message) => isSame(text, message)));
  if (strange.length > 0) notes.push(`${target.name}: texts that nobody sent: ${JSON.stringify(strange)}`);
  const order = (await acceptedTexts(bed)).flatMap((text) => places[messages.indexOf(text)] ?? []);
  const inOrder = order.every((place, i) => i === 0 || place > (order[i - 1] ?? -1));
  if (!inOrder) notes.push(`${target.name}: the order changed on the way: ${order}`);
  const others = told.filter((outcome) => outcome !== NudgeOutcome.SUBMITTED).map(nameOf);
  const whole = places.filter((place) => place !== undefined).length;
  return { target: target.name, mode, callers, submitted: wanted, whole, others: countsOf(others), inOrder, ms, notes };
}

async function callAlone(bed: Bed, requestId: string, message: string, mode: CrowdFigures["mode"]) {
  const connection = sidecarTransport({ baseUrl: bed.sidecar.url });
  try {
    const client = createClient(SidecarService, connection.transport);
    const request = { message, requestId, mode: MODES[mode], timeoutMs: BigInt(WAIT_MS) };
    return (await client.nudge(request, { timeoutMs: WAIT_MS + 5000 })).outcome;
  } finally {
    connection[Symbol.dispose]();
  }
}

function countsOf(names: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, list]) => [name, list.length]));
}

const MODES = { "wait-idle": NudgeMode.WAIT_IDLE, immediate: NudgeMode.IMMEDIATE } as const;

/** The texts in the order of acceptance, which only the sidecar's journal records. */
async function acceptedTexts({ sidecar }: Bed): Promise<readonly string[]> {
  const lines = (await readFile(join(sidecar.stateDir, "journal.jsonl"), "utf8")).split("\n").filter(Boolean);
  const afterSum = (line: string): string => line.slice(line.indexOf("{"));
  const records = lines.map((line) => JSON.parse(afterSum(line)) as { type: string; nudge?: { message: string } });
  return records.flatMap(({ type, nudge }) => (type === "accepted" && nudge !== undefined ? [nudge.message] : []));
}
