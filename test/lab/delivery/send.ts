import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { AgentState, NudgeOutcome } from "../../../internal/gen/gastown/v1/common_pb.ts";
import { NudgeMode, type SidecarNudgeResponse } from "../../../internal/gen/gastown/v1/sidecar_pb.ts";
import type { NudgeOutcome as OutcomeName } from "../../../internal/session/types.ts";
import type { Bed } from "./bed.ts";
import { isSame, judge, type Observed, type Reported, type Verdict } from "./judge.ts";
import type { MessageKind } from "./messages.ts";
import type { StateKind } from "./states.ts";
import type { Target } from "./targets.ts";

export type ModeName = "wait-idle" | "immediate" | "queue" | "queue, short ttl" | "queue, cancelled";
export const MODES: readonly ModeName[] = [
  "wait-idle",
  "wait-idle",
  "wait-idle",
  "immediate",
  "immediate",
  "queue",
  "queue",
  "queue, short ttl",
  "queue, cancelled",
];
/** The modes whose message is given up only if the agent does not take it. */
export const PATIENT_MODES: readonly ModeName[] = MODES.filter((mode) => !mode.startsWith("queue, "));

const WIRE_MODES: Readonly<Record<ModeName, NudgeMode>> = {
  "wait-idle": NudgeMode.WAIT_IDLE,
  immediate: NudgeMode.IMMEDIATE,
  queue: NudgeMode.QUEUE,
  "queue, short ttl": NudgeMode.QUEUE,
  "queue, cancelled": NudgeMode.QUEUE,
};
/** For these outcomes the reason is kept with the sample. */
const ODD: ReadonlySet<NudgeOutcome> = new Set([
  NudgeOutcome.UNKNOWN,
  NudgeOutcome.STRANDED,
  NudgeOutcome.COMPOSER_BUSY,
]);
const SHORT_TTL_MS = 400;
const CALL_MS = 12_000;
const END_MS = 45_000;
const STAYS_MS = 500;
const ARRIVAL_MS = 60_000;
const ASK_AGAIN_SHARE = 0.2;

export interface Plan {
  readonly bed: Bed;
  readonly target: Target;
  readonly state: StateKind;
  readonly kind: MessageKind;
  readonly mode: ModeName;
  readonly mark: string;
  readonly message: string;
  /** Earlier messages with the outcome UNKNOWN that have not arrived, but that the agent may still take. */
  readonly late: readonly string[];
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** One send: the answer to the caller, and the actual result. */
export interface Sample extends Verdict {
  readonly target: string;
  readonly state: string;
  readonly kind: string;
  readonly isSafe: boolean;
  readonly mode: ModeName;
  readonly told: Reported;
  readonly error: string;
  /** For a message that was not submitted: the evidence of its receipt, and the screen right after it. */
  readonly evidence?: string | undefined;
  /** The duration of the call. */
  readonly ms: number;
  /** The receipt's timings, in milliseconds from acceptance: queued, typed, submitted, confirmed. */
  readonly steps: readonly number[];
  readonly message: string;
  /** Including the setup and teardown of the state. */
  readonly wholeMs: number;
}

/** Sends one message in one state and judges its receipt by the receiver's final record. */
export async function sendOnce(plan: Plan): Promise<Sample> {
  const { bed, state, target, kind, message, mark, random, signal } = plan;
  const begunAt = performance.now();
  const staged = await state.stage({ bed, target, mark, random });
  const before = await bed.quiet();
  const effectsBefore = (await bed.receiver.effects()).length;
  await staged.lead?.();
  const startedAt = performance.now();
  const [first] = await Promise.all([call(plan), staged.beside?.()]);
  const ms = performance.now() - startedAt;
  const isForThePerson = staged.person !== undefined && staged.typing !== true && staged.lead === undefined;
  const early = isForThePerson ? await news(bed, before.length) : [];
  const ranAtOnce = (await bed.receiver.effects()).slice(effectsBefore);
  let dialogGone = false;
  if (staged.dialogId !== undefined) dialogGone = (await bed.status()).dialog?.id !== staged.dialogId;
  if (staged.resolve !== undefined && plan.mode === "queue, short ttl") await sleep(SHORT_TTL_MS + 200);
  await staged.resolve?.();
  const end = await ended(plan, first, staged.stays === true ? STAYS_MS : END_MS);
  const evidence = await evidenceOf(bed, end);
  const told = end === undefined ? "invalid" : nameOf(end.outcome);
  const isLast = target.fatal !== undefined && message.includes(target.fatal);
  const rests = staged.isDead !== true && staged.stays !== true && !isLast;
  const leftover = rests && (await isLeftOver(bed)) ? await composerRows(bed) : "";
  if (rests) await bed.calm(signal);
  if (told === "submitted") await arrival(bed, before.length + (staged.person?.length ?? 0) + 1);
  const observed: Observed = {
    told,
    message,
    deliveredText: end?.deliveredText || undefined,
    received: (await bed.quiet()).slice(before.length).filter((got) => !plan.late.some((text) => isSame(got, text))),
    person: staged.person ?? [],
    early,
    effects: [...new Set([...ranAtOnce, ...(await notAllowed(bed, effectsBefore, staged.allowed))])],
    dialogGone,
    leftover,
    typing: staged.typing ?? false,
    isLast,
  };
  const verdict = judge(observed);
  const faults = [...verdict.faults, ...(await askedAgain(plan, end))];
  const { name, class: group } = kind;
  // An unknown program may read line by line.
  const isSplit = target.kind === "tui" && message.trim().includes("\n");
  const names = {
    target: target.name,
    state: state.name,
    kind: name,
    isSafe: group === "safe" && !isSplit,
    mode: plan.mode,
  };
  return {
    ...verdict,
    ...names,
    faults,
    told,
    error: end?.error ?? "",
    evidence,
    ms,
    steps: stepsOf(end),
    message,
    wholeMs: performance.now() - begunAt,
  };
}

async function notAllowed(bed: Bed, from: number, allowed: readonly string[] = []): Promise<readonly string[]> {
  const ran = (await bed.receiver.effects()).slice(from);
  return ran.filter((effect) => !allowed.some((name) => effect.includes(name)));
}

async function evidenceOf(bed: Bed, receipt: SidecarNudgeResponse | undefined): Promise<string | undefined> {
  if (receipt === undefined || !ODD.has(receipt.outcome)) return undefined;
  const { output } = await bed.sidecar.client.peek({ lines: 30 });
  return `${proofsOf(receipt)}\n${output.trimEnd()}`;
}

/** The evidence of a receipt, and the times of its steps. */
export function proofsOf(receipt: SidecarNudgeResponse): string {
  const proofs = receipt.evidence.map(({ source, value, ageMs }) => `${source}: ${value}, ${ageMs} ms before`);
  return [nameOf(receipt.outcome), receipt.error, ...proofs, `steps: ${stepsOf(receipt).join(", ")} ms`].join("; ");
}

function stepsOf(end: SidecarNudgeResponse | undefined): readonly number[] {
  const { queuedMs = 0n, typedMs = 0n, submittedMs = 0n, confirmedMs = 0n } = end?.timings ?? {};
  return [queuedMs, typedMs, submittedMs, confirmedMs].map(Number);
}

/** Undefined: the call itself was rejected. */
async function call(plan: Plan): Promise<SidecarNudgeResponse | undefined> {
  const { bed, mode, mark, message, random } = plan;
  const { client } = bed.sidecar;
  const ttl = mode === "queue, short ttl" ? { ttlMs: BigInt(SHORT_TTL_MS) } : {};
  const request = { message, requestId: mark, mode: WIRE_MODES[mode], timeoutMs: BigInt(CALL_MS), ...ttl };
  try {
    const receipt = await client.nudge(request, { timeoutMs: CALL_MS + 10_000 });
    if (mode !== "queue, cancelled") return receipt;
    await sleep(Math.round(random() * 150));
    return await client.cancelNudge({ requestId: mark });
  } catch (err) {
    if (err instanceof ConnectError && err.code === Code.InvalidArgument) return undefined;
    throw err;
  }
}

/** Waits for the final receipt; cancels a message that does not end. */
async function ended(
  plan: Plan,
  first: SidecarNudgeResponse | undefined,
  limitMs: number,
): Promise<SidecarNudgeResponse | undefined> {
  const { client } = plan.bed.sidecar;
  let last = first;
  for (const end = performance.now() + limitMs; last?.outcome === NudgeOutcome.QUEUED; await sleep(20)) {
    plan.signal.throwIfAborted();
    const isLate = performance.now() > end;
    last = isLate
      ? await client.cancelNudge({ requestId: plan.mark })
      : await client.getNudge({ requestId: plan.mark });
  }
  return last;
}

/** Whether text is in the composer once the agent has come to rest. */
async function isLeftOver(bed: Bed): Promise<boolean> {
  if (!bed.provesIdle) return false;
  let seen = 0;
  for (const end = performance.now() + 5000; performance.now() < end; await sleep(50)) {
    const { state, draft } = await bed.status();
    if (!draft && (state === AgentState.IDLE || state === AgentState.BUSY)) return false;
    seen = draft && state === AgentState.IDLE ? seen + 1 : 0;
    if (seen >= 5) return true;
  }
  return false;
}

async function composerRows({ sidecar }: Bed): Promise<string> {
  return (await sidecar.client.peek({ lines: 6 })).output || "?";
}

/** Waits until the agent has received `count` messages, for at most ten seconds. */
export async function arrival(bed: Bed, count: number): Promise<void> {
  for (const end = performance.now() + ARRIVAL_MS; performance.now() < end; await sleep(50)) {
    if ((await bed.receiver.received()).length >= count) return;
  }
}

async function news(bed: Bed, from: number): Promise<readonly string[]> {
  return (await bed.receiver.received()).slice(from);
}

/** Repeats the same request: the receipt must be the same, and nothing typed (which the next send would detect). */
async function askedAgain(plan: Plan, end: SidecarNudgeResponse | undefined): Promise<Verdict["faults"]> {
  if (end === undefined || plan.random() > ASK_AGAIN_SHARE) return [];
  const { message, mark } = plan;
  const again = await plan.bed.sidecar.client.nudge({ message, requestId: mark }, { timeoutMs: 5000 });
  if (again.outcome === end.outcome) return [];
  return [{ kind: "wrong", why: `asked again: ${nameOf(again.outcome)} after ${nameOf(end.outcome)}` }];
}

export function nameOf(outcome: NudgeOutcome): OutcomeName {
  const name = Object.entries(NudgeOutcome).find(([, value]) => value === outcome)?.[0] ?? String(outcome);
  return name.toLowerCase().replaceAll("_", "-") as OutcomeName;
}
