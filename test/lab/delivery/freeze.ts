import { setTimeout as sleep } from "node:timers/promises";
import { seeded } from "../../../bench/stats.ts";
import { NudgeOutcome } from "../../../internal/gen/gastown/v1/common_pb.ts";
import { NudgeMode, type SidecarNudgeResponse } from "../../../internal/gen/gastown/v1/sidecar_pb.ts";
import { type Freezer, makeFreezer } from "../../support/agents/freezer.ts";
import type { Bed } from "./bed.ts";
import { judge } from "./judge.ts";
import { mixedLine } from "./mixed-lines.ts";
import { arrival, nameOf, proofsOf } from "./send.ts";
import type { Target } from "./targets.ts";

/** One freeze of an agent during a delivery, with the outcomes of that message and of the next. */
export interface FreezeFigures {
  readonly target: string;
  /** The number of the freeze; it and the seed determine its time. */
  readonly index: number;
  readonly ms: number;
  readonly told: string;
  readonly next: string;
  /** The time from the thaw until both messages have ended. */
  readonly nextMs: number;
  /** The false receipts, one sentence each. */
  readonly notes: readonly string[];
}

export interface FreezeOptions {
  readonly seed: number;
  readonly from: number;
  readonly to: number;
  /** The number of freezes after which the agent is started again; default 25. */
  readonly life?: number;
  readonly sidecarProgram: string | undefined;
  readonly signal: AbortSignal;
  readonly onFreeze: (figures: FreezeFigures) => void;
  /** Reports an agent that was given up; the run continues with another. */
  readonly onTrouble: (text: string) => void;
}

/** The longest time from the call to the freeze: a delivery is over by then. */
const WITHIN_MS = 300;
const LEAST_MS = 100;
const MOST_MS = 20_000;
/** The next message must be submitted within this time after the thaw. */
const NEXT_MS = 30_000;
const END_MS = 60_000;
const RESTED_MS = 400;
const PER_LIFE = 25;
/** The number of last lines of the sidecar's log that are kept with the reason why an agent was given up. */
const LOG_LINES = 8;

/** Freezes the agent at random instants of deliveries; the logarithm of the duration is uniformly distributed. */
export async function runFreezes(target: Target, options: FreezeOptions): Promise<void> {
  const { life = PER_LIFE } = options;
  for (let next = options.from; next < options.to; ) {
    const done = await freezesOfALife(target, { ...options, from: next, to: Math.min(options.to, next + life) });
    next = done.next;
    if (done.trouble === undefined) continue;
    options.onTrouble(`freeze ${next}: ${done.trouble.slice(0, 2500)}`);
    next++;
  }
}

/** `trouble`: the reason why the agent's life ended early; the freeze `next`, during which it ended, is not judged. */
async function freezesOfALife(target: Target, options: FreezeOptions) {
  const { from, to, seed, sidecarProgram, signal, onFreeze } = options;
  let next = from;
  let log = () => "";
  await using freezer = await makeFreezer();
  if (freezer === undefined) throw new Error("nothing can be frozen here: no cgroup can be made");
  try {
    await using bed = await target.start(sidecarProgram);
    log = () => bed.sidecar.log().trimEnd().split("\n").slice(-LOG_LINES).join("\n");
    for (; next < to; next++) {
      signal.throwIfAborted();
      const random = seeded(seed * 1_000_003 + next * 7919);
      onFreeze({ target: target.name, index: next, ...(await freezeOnce(bed, freezer, next, random, signal)) });
    }
    return { next };
  } catch (err) {
    signal.throwIfAborted();
    return { next, trouble: `${err instanceof Error ? err.message : String(err)}\n${log()}` };
  }
}

async function freezeOnce(bed: Bed, freezer: Freezer, index: number, random: () => number, signal: AbortSignal) {
  await bed.calm(signal);
  const before = (await bed.quiet()).length;
  const { client } = bed.sidecar;
  const ms = Math.round(LEAST_MS * (MOST_MS / LEAST_MS) ** random());
  const [first, next] = ["f", "n"].map((kind) => ({
    requestId: `${kind}${index}x${Math.floor(random() * 0x1_0000_0000).toString(36)}`,
    message: `${kind}${index} ${mixedLine(random)}`,
  })) as [Message, Message];
  const mode = random() < 0.3 ? NudgeMode.IMMEDIATE : NudgeMode.WAIT_IDLE;
  const { agentPid } = await bed.status();
  const call = client.nudge({ ...first, mode, timeoutMs: BigInt(END_MS) }, { timeoutMs: END_MS + 5000 });
  await sleep(random() * WITHIN_MS);
  await freezer.freeze(agentPid);
  await sleep(ms);
  await freezer.thaw();
  const thawedAt = performance.now();
  const nextEnd = await client.nudge({ ...next, timeoutMs: BigInt(END_MS) }, { timeoutMs: END_MS + 5000 });
  const firstEnd = await call;
  const nextMs = performance.now() - thawedAt;
  const shown = nextEnd.outcome === NudgeOutcome.SUBMITTED ? "" : (await client.peek({ lines: 8 })).output;
  await bed.calm(signal);
  await sleep(RESTED_MS);
  const taken = [firstEnd, nextEnd].filter(({ outcome }) => outcome === NudgeOutcome.SUBMITTED).length;
  await arrival(bed, before + taken);
  const received = (await bed.quiet()).slice(before);
  const notes = [...faultsOf(first, firstEnd, received, next), ...faultsOf(next, nextEnd, received, first)];
  if (nextEnd.outcome !== NudgeOutcome.SUBMITTED || nextMs > NEXT_MS) {
    notes.push(
      `the next message: ${nameOf(nextEnd.outcome)} after ${Math.round(nextMs)} ms\n${proofsOf(nextEnd)}\n${proofsOf(firstEnd)}\n${shown}`,
    );
  }
  return { ms, told: nameOf(firstEnd.outcome), next: nameOf(nextEnd.outcome), nextMs: Math.round(nextMs), notes };
}

interface Message {
  readonly requestId: string;
  readonly message: string;
}

/** The faults of one receipt; the other message's text is left out of what the agent received. */
function faultsOf(sent: Message, end: SidecarNudgeResponse, received: readonly string[], other: Message): string[] {
  const mark = other.message.split(" ", 1)[0] ?? "";
  const rest = received.filter((text) => !text.startsWith(`${mark} `));
  const nothing = { person: [], early: [], effects: [], dialogGone: false, leftover: "", typing: false, isLast: false };
  const texts = { message: sent.message, deliveredText: end.deliveredText || undefined };
  const { faults } = judge({ ...nothing, ...texts, told: nameOf(end.outcome), received: rest });
  return faults.map(({ kind, why }) => `${sent.requestId}: ${kind}: ${why}`);
}
