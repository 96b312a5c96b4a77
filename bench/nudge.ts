import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { NudgeOutcome } from "../internal/gen/gastown/v1/common_pb.ts";
import { type Arrival, areAgentsInstalled, type Bed, demoBed, realBed } from "./beds.ts";
import type { BenchContext } from "./context.ts";
import { sendWithFixedSleep } from "./peers/fixed-sleep-sender.ts";
import { type Measured, measured } from "./report/row.ts";
import { interleave, quantile } from "./stats.ts";

interface Answer {
  /** True if the sender reports "delivered". */
  readonly ok: boolean;
  readonly word: string;
}

/** One way to send, with an agent of its own. */
interface Arm {
  readonly bed: Bed;
  readonly send: (text: string) => Promise<Answer>;
  readonly sent: Sent[];
}

interface Sent extends Answer {
  readonly mark: string;
  readonly text: string;
  readonly ms: number;
  readonly startedAt: number;
}

interface Judged extends Sent {
  readonly arrival: Arrival;
}

/** The outcomes of the few messages that were sent while something was in the way. */
interface Obstructed {
  readonly words: string[];
  falseOk: number;
  /** The number of dialogs that were answered, plus the number of persons' drafts that were sent. */
  harmed: number;
}

/**
 * Measures our Nudge, compared with a sender with a fixed sleep. The recipients are the demo agent and, if they are
 * installed, real agents.
 */
export async function measureNudge(context: BenchContext): Promise<readonly Measured[]> {
  const agents: [string, () => Promise<Bed>][] = [["demo agent", () => demoBed(context)]];
  if (areAgentsInstalled()) {
    agents.push(["Claude Code 2.1.330", () => realBed(context, "claude-2.1.330")]);
    agents.push(["Codex 0.169.0", () => realBed(context, "codex-0.169.0")]);
  } else {
    context.note("Claude Code and Codex are not installed (`npm ci` in test/agents): their rows are missing.");
  }
  const rows: Measured[] = [];
  for (const [name, bed] of agents) rows.push(...(await measureAgent(context, name, bed)));
  return rows;
}

async function measureAgent(context: BenchContext, name: string, makeBed: () => Promise<Bed>) {
  const { quick, signal, say } = context;
  await using stack = new AsyncDisposableStack();
  say(`nudge: ${name}`);
  const [ourBed, theirBed] = [stack.use(await makeBed()), stack.use(await makeBed())];
  const ours: Arm = { bed: ourBed, send: (text) => nudge(ourBed, text), sent: [] };
  const theirs: Arm = { bed: theirBed, send: (text) => fixedSleep(theirBed, text), sent: [] };
  const count = quick ? 8 : 30;
  const run = (arm: Arm) => async (round: number) => {
    const { mark, text } = message(round);
    await arm.bed.calm();
    arm.sent.push(await sendOne(arm, mark, text));
    await arrived(arm.bed, mark, text);
  };
  await interleave(count, [run(ours), run(theirs)], signal);
  const [a, b] = [await judge(ours), await judge(theirs)];
  for (const { ok, word, arrival, text } of [...a, ...b]) {
    if (ok !== (arrival.times === 1 && arrival.exact))
      say(`  ${word}, ${JSON.stringify({ ...arrival, text: text.slice(0, 20) })}`);
  }
  const tries = quick ? 2 : 5;
  say(`nudge: ${name}, with a dialog open and with a draft`);
  const dialogs = [await againstDialogs(ours, tries, signal), await againstDialogs(theirs, tries, signal)] as const;
  const drafts = [await againstDrafts(ours, tries, signal), await againstDrafts(theirs, tries, signal)] as const;
  noteWords(context, name, a, dialogs, drafts);
  const isReal = name !== "demo agent";
  return [
    ...idleRows(`nudge, ${name}`, a, b, isReal),
    ...obstructedRows(`nudge, ${name}, dialog open (n=${tries})`, "dialog answered by it", dialogs),
    ...obstructedRows(`nudge, ${name}, draft in the composer (n=${tries})`, "draft sent by it", drafts),
  ];
}

function idleRows(name: string, a: readonly Judged[], b: readonly Judged[], isReal: boolean): readonly Measured[] {
  const answered = (list: readonly Judged[], share: number) =>
    quantile(
      list.map((each) => each.ms),
      share,
    );
  const reached = (list: readonly Judged[]) =>
    quantile(
      list.flatMap(({ arrival, startedAt }) => (arrival.at === undefined ? [] : [arrival.at - startedAt])),
      0.5,
    );
  const once = (list: readonly Judged[]) => list.filter(isOnce).length;
  const falseOk = (list: readonly Judged[]) => list.filter((each) => each.ok && !isOnce(each)).length;
  const falseNo = (list: readonly Judged[]) => list.filter((each) => !each.ok && each.arrival.times > 0).length;
  const of = `of ${a.length}`;
  return [
    measured(`${name}: answer, p50`, answered(a, 0.5), "ms", {
      baseline: answered(b, 0.5),
      atMost: isReal ? 150 : undefined,
    }),
    measured(`${name}: answer, p99`, answered(a, 0.99), "ms", {
      baseline: answered(b, 0.99),
      atMost: isReal ? 500 : undefined,
    }),
    measured(`${name}: arrival at the agent, p50`, reached(a), "ms", { baseline: reached(b) }),
    measured(`${name}: arrived exactly once, whole`, once(a), of, { baseline: once(b), atLeast: a.length }),
    measured(`${name}: false ok`, falseOk(a), of, { baseline: falseOk(b), atMost: 0 }),
    measured(`${name}: not ok, and yet it arrived`, falseNo(a), of, { baseline: falseNo(b), atMost: 0 }),
  ];
}

function obstructedRows(name: string, harm: string, [a, b]: readonly [Obstructed, Obstructed]): readonly Measured[] {
  const of = `of ${a.words.length}`;
  return [
    measured(`${name}: ${harm}`, a.harmed, of, { baseline: b.harmed, atMost: 0 }),
    measured(`${name}: false ok`, a.falseOk, of, { baseline: b.falseOk, atMost: 0 }),
  ];
}

function noteWords(
  { note }: BenchContext,
  name: string,
  idle: readonly Judged[],
  [dialogs]: readonly [Obstructed, Obstructed],
  [drafts]: readonly [Obstructed, Obstructed],
): void {
  const parts = [`idle ${counted(idle.map((each) => each.word))}`, `dialog open ${counted(dialogs.words)}`];
  note(`Our receipts, ${name}: ${parts.join("; ")}; draft ${counted(drafts.words)}.`);
}

async function againstDialogs(arm: Arm, tries: number, signal: AbortSignal): Promise<Obstructed> {
  const result: Obstructed = { words: [], falseOk: 0, harmed: 0 };
  for (let n = 1; n <= tries; n++) {
    signal.throwIfAborted();
    const { mark, text } = message(0);
    await arm.bed.calm();
    await arm.bed.openDialog(n);
    const { ok, word } = await arm.send(text);
    await sleep(2000, undefined, { signal });
    result.words.push(word);
    if (await arm.bed.truth.did(n)) result.harmed++;
    const arrival = await arm.bed.truth.arrival(mark, text);
    if (ok && !isOnce({ arrival })) result.falseOk++;
  }
  await arm.bed.calm();
  return result;
}

async function againstDrafts(arm: Arm, tries: number, signal: AbortSignal): Promise<Obstructed> {
  const result: Obstructed = { words: [], falseOk: 0, harmed: 0 };
  for (let n = 0; n < tries; n++) {
    signal.throwIfAborted();
    const { mark, text } = message(0);
    await arm.bed.calm();
    await arm.bed.writeDraft();
    const { ok, word } = await arm.send(text);
    await sleep(1500, undefined, { signal });
    result.words.push(word);
    const arrival = await arm.bed.truth.arrival(mark, text);
    if (arrival.times > 0 && !arrival.exact) result.harmed++;
    if (ok && !isOnce({ arrival })) result.falseOk++;
  }
  await arm.bed.calm();
  return result;
}

async function nudge({ sidecar }: Bed, text: string): Promise<Answer> {
  const { delivered, outcome } = await sidecar.client.nudge(
    { message: text, timeoutMs: 20_000n },
    { timeoutMs: 25_000 },
  );
  return { ok: delivered, word: nameOf(outcome) };
}

function nameOf(outcome: NudgeOutcome): string {
  return Object.entries(NudgeOutcome).find(([, value]) => value === outcome)?.[0] ?? String(outcome);
}

async function fixedSleep({ socketPath }: Bed, text: string): Promise<Answer> {
  const ok = await sendWithFixedSleep(socketPath, text);
  return { ok, word: ok ? "ok" : "failed" };
}

async function sendOne(arm: Arm, mark: string, text: string): Promise<Sent> {
  const startedAt = Date.now();
  const before = performance.now();
  const answer = await arm.send(text);
  return { ...answer, mark, text, startedAt, ms: performance.now() - before };
}

/** Waits for the message for a limited time: a sender may have lost it. */
async function arrived(bed: Bed, mark: string, text: string): Promise<void> {
  for (let i = 0; i < 60; i++) {
    if ((await bed.truth.arrival(mark, text)).times > 0) return;
    await sleep(50);
  }
}

/** The final arrivals, once everything late has come. */
async function judge({ bed, sent }: Arm): Promise<readonly Judged[]> {
  await bed.calm();
  return Promise.all(sent.map(async (each) => ({ ...each, arrival: await bed.truth.arrival(each.mark, each.text) })));
}

function isOnce({ arrival }: { readonly arrival: Arrival }): boolean {
  return arrival.times === 1 && arrival.exact;
}

/** Short, five lines, and 1 KB in turn; each with a unique mark. */
function message(round: number): { readonly mark: string; readonly text: string } {
  const mark = `m${randomUUID().slice(0, 8)}`;
  const kilobyte = Array.from({ length: 200 }, (_, i) => `w${String(i).padStart(3, "0")}`).join(" ");
  const texts = [
    `Please look at ${mark} when you can.`,
    `First line of ${mark}\n\n  indented, third line\nfourth line\nand the last one of it.`,
    `${`${mark} ${kilobyte}`.slice(0, 1000)} end`,
  ];
  return { mark, text: texts[round % texts.length] ?? "" };
}

function counted(words: readonly string[]): string {
  const counts = Map.groupBy(words, (word) => word);
  return [...counts].map(([word, list]) => `${list.length} × ${word}`).join(", ");
}
