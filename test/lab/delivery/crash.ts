import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AgentState, NudgeOutcome } from "../../../internal/gen/gastown/v1/common_pb.ts";
import type { SidecarNudgeResponse } from "../../../internal/gen/gastown/v1/sidecar_pb.ts";
import { demoCommand, type RunningSidecar, startSidecar, until } from "../../support/sidecar/sidecar.ts";
import { judge } from "./judge.ts";
import { MESSAGES } from "./messages.ts";
import { fileReceiver, type Receiver } from "./receiver.ts";
import { nameOf } from "./send.ts";
import type { Target } from "./targets.ts";

export interface CrashFigures {
  readonly target: string;
  readonly victim: string;
  readonly kills: number;
  readonly messages: number;
  /** The number of request ids with exactly one outcome. */
  readonly ended: number;
  readonly lost: number;
  readonly doubled: number;
  readonly wrong: number;
  readonly told: Readonly<Record<string, number>>;
  /** The false receipts, one sentence each. */
  readonly notes: readonly string[];
}

export interface CrashOptions {
  readonly kills: number;
  readonly random: () => number;
  readonly sidecarProgram: string | undefined;
  readonly signal: AbortSignal;
}

/** The longest time from the call to the kill: a delivery is over by then. */
const WITHIN_MS = { real: 400, demo: 120, tui: 400 } as const;
const RESTED_MS = 300;

interface Sent {
  readonly mark: string;
  readonly message: string;
  readonly end: SidecarNudgeResponse | undefined;
  readonly again: NudgeOutcome | undefined;
  readonly received: readonly string[];
}

/** Kills the serving half during deliveries. After each kill, repeats the same request until it has an outcome. */
export async function crashServingHalf(target: Target, options: CrashOptions): Promise<CrashFigures> {
  await using bed = await target.start(options.sidecarProgram);
  const { sidecar, receiver } = bed;
  const sent: Sent[] = [];
  for (let i = 0; i < options.kills; i++) {
    await bed.calm(options.signal);
    const before = (await bed.quiet()).length;
    const { mark, message } = aMessage(i, options.random);
    const call = sidecar.client.nudge({ message, requestId: mark }, { timeoutMs: 20_000 }).catch(() => undefined);
    await sleep(Math.round(options.random() * WITHIN_MS[target.kind]));
    process.kill(sidecar.servingPid(), "SIGKILL");
    await call;
    const end = await askUntilEnded(sidecar, mark, message, options.signal);
    await bed.calm(options.signal);
    await sleep(RESTED_MS);
    sent.push({
      mark,
      message,
      end,
      again: await outcomeOf(sidecar, mark),
      received: await newTexts(receiver, before),
    });
  }
  return figuresOf(target.name, "serving half", sent);
}

/** Kills the sidecar with all its descendants, including tmux and the agent, and starts another on the same folder. */
export async function crashEverything(options: CrashOptions): Promise<CrashFigures> {
  const dir = await mkdtemp(join(tmpdir(), "gt-lab-"));
  const sent: Sent[] = [];
  const start = async () => {
    const setup = { command: demoCommand(dir, "--turn-ms", "100") };
    const { sidecarProgram: program } = options;
    const sidecar = await startSidecar({ ...setup, program }, dir);
    await sidecar.untilState(AgentState.IDLE);
    return sidecar;
  };
  let sidecar = await start();
  try {
    const receiver = fileReceiver(join(dir, "taken.jsonl"));
    for (let i = 0; i < options.kills; i++) {
      const before = (await receiver.received()).length;
      const { mark, message } = aMessage(i, options.random);
      const call = sidecar.client.nudge({ message, requestId: mark }, { timeoutMs: 20_000 }).catch(() => undefined);
      await sleep(Math.round(options.random() * WITHIN_MS.demo));
      await killTree(sidecar.process.pid ?? 0);
      await call;
      await sidecar[Symbol.asyncDispose]();
      sidecar = await start();
      const end = await askUntilEnded(sidecar, mark, message, options.signal);
      await sidecar.untilState(AgentState.IDLE);
      await sleep(RESTED_MS);
      sent.push({
        mark,
        message,
        end,
        again: await outcomeOf(sidecar, mark),
        received: await newTexts(receiver, before),
      });
    }
  } finally {
    await sidecar[Symbol.asyncDispose]();
    await rm(dir, { recursive: true, force: true, maxRetries: 5 });
  }
  return figuresOf("demo:plain", "everything", sent);
}

function aMessage(i: number, random: () => number): { readonly mark: string; readonly message: string } {
  const mark = `c${i}x${Math.floor(random() * 0x1_0000_0000).toString(36)}`;
  const texts = MESSAGES.filter((kind) => kind.class === "safe")
    .map((kind) => kind.make({ mark, before: "", random }))
    .filter((text) => text.includes(mark));
  return { mark, message: texts[Math.floor(random() * texts.length)] ?? mark };
}

async function askUntilEnded(sidecar: RunningSidecar, requestId: string, message: string, signal: AbortSignal) {
  return await until(`an end of ${requestId}`, 60_000, async () => {
    signal.throwIfAborted();
    const ask = sidecar.client.nudge({ message, requestId, timeoutMs: 20_000n }, { timeoutMs: 25_000 });
    const receipt = await ask.catch(() => undefined);
    return receipt === undefined || receipt.outcome === NudgeOutcome.QUEUED ? undefined : receipt;
  }).catch((err: unknown) => {
    if (signal.aborted) throw err;
    return undefined;
  });
}

async function outcomeOf({ client }: RunningSidecar, requestId: string): Promise<NudgeOutcome | undefined> {
  return (await client.getNudge({ requestId }, { timeoutMs: 5000 }).catch(() => undefined))?.outcome;
}

async function newTexts(receiver: Receiver, from: number): Promise<readonly string[]> {
  return (await receiver.received()).slice(from);
}

function figuresOf(target: string, victim: string, sent: readonly Sent[]): CrashFigures {
  const told: Record<string, number> = {};
  const counts = { lost: 0, doubled: 0, wrong: 0, ended: 0 };
  const notes: string[] = [];
  for (const { message, end, again, received } of sent) {
    if (end === undefined) continue;
    if (end.outcome === again) counts.ended++;
    const name = nameOf(end.outcome);
    told[name] = (told[name] ?? 0) + 1;
    const nothing = {
      person: [],
      early: [],
      effects: [],
      dialogGone: false,
      leftover: "",
      typing: false,
      isLast: false,
    };
    const { faults } = judge({ ...nothing, told: name, message, received });
    for (const { kind, why } of faults) {
      if (kind === "lost" || kind === "doubled" || kind === "wrong") counts[kind]++;
      notes.push(`${target}, ${victim} killed: ${kind}: ${why}`);
    }
  }
  return { target, victim, kills: sent.length, messages: sent.length, ...counts, told, notes };
}

/**
 * Kills a process and all its descendants. Collects them first, because a process whose parent has ended gets another
 * parent.
 */
async function killTree(pid: number): Promise<void> {
  for (const each of [pid, ...(await descendants(pid))]) {
    try {
      process.kill(each, "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }
}

async function descendants(pid: number): Promise<readonly number[]> {
  const children = new Map<number, number[]>();
  for (const name of (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry))) {
    const stat = await readFile(`/proc/${name}/stat`, "latin1").catch(() => "");
    const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const below = (of: number): number[] => (children.get(of) ?? []).flatMap((child) => [child, ...below(child)]);
  return below(pid);
}
