import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { anonymousMiB } from "../../../bench/proc.ts";
import type { Random } from "../../fuzz/random.ts";
import { freePort } from "../../support/bridge/free-port.ts";
import { eventually } from "../../support/eventually.ts";
import { descriptors } from "../held.ts";
import { type Attempt, judgeTexts } from "./judge-texts.ts";
import { ReviewAgents } from "./review-agents.ts";
import { TwoServers, together } from "./two-servers.ts";

/** The maximum time for reminders of what an agent forgot when it was killed, on a busy machine. */
const SETTLED_MS = 420_000;
const SAMPLE_MS = 5000;
const RETRY_MS = 50;
/** A killed agent's successor does not know of the work in progress: its reminder comes after two minutes. */
const AGENT_KILL_MS = 240_000;

export interface ReviewOptions {
  readonly seconds: number;
  /** The programs that fix, by the names of `REAL_PROGRAMS`. */
  readonly fixers: readonly string[];
  readonly random: Random;
  /** The maximum time between two kills, ms. */
  readonly pauseMs: number;
  /** The number of cycles by hand, and then of cycles by threads, before anything is killed. */
  readonly calm: number;
}

interface Held {
  readonly mib: number;
  readonly descriptors: number;
}

export interface ReviewFigures {
  /** How long each cycle took, ms: by hand, by threads with nothing killed, and while everything is killed. */
  readonly tookMs: { readonly hand: number[]; readonly calm: number[]; readonly killed: number[] };
  readonly kills: { server: number; postgres: number; serving: number; agent: number };
  wakes: number;
  /** The texts of wakes that agents took. */
  typed: number;
  unknown: number;
  doubled: number;
  false: number;
  /** The number of cycles that did not finish. */
  lost: number;
  /** In order of time. */
  readonly held: { readonly servers: Held[]; readonly sidecars: Held[] };
}

/** Has real agents review, fix and review again by threads, cycle after cycle, while everything is killed at random. */
export async function reviewWhileKilling(options: ReviewOptions): Promise<ReviewFigures> {
  const figures: ReviewFigures = {
    tookMs: { hand: [], calm: [], killed: [] },
    kills: { server: 0, postgres: 0, serving: 0, agent: 0 },
    ...{ wakes: 0, typed: 0, unknown: 0, doubled: 0, false: 0, lost: 0, held: { servers: [], sidecars: [] } },
  };
  // An agent gets its server's address only at its start.
  await using bed = await TwoServers.start("local", "system", [await freePort(), await freePort()]);
  await using agents = await ReviewAgents.start(bed.servers, options.fixers);
  const timed = async (into: number[], cycle: () => Promise<void>) => {
    const began = performance.now();
    await cycle();
    into.push(performance.now() - began);
  };
  let change = 0;
  for (let at = 0; at < options.calm; at++) await timed(figures.tookMs.hand, () => agents.cycleByHand(++change));
  const cycle = () => cycleByThreads(bed, agents, ++change);
  for (let at = 0; at < options.calm; at++) await timed(figures.tookMs.calm, cycle);
  await underKills(bed, agents, options, figures, () => timed(figures.tookMs.killed, cycle));
  await judge(bed, agents, figures);
  return figures;
}

/** Posts a request to review a change, and waits until the reviewer has resolved it. */
async function cycleByThreads(bed: TwoServers, agents: ReviewAgents, change: number): Promise<void> {
  const fixer = agents.fixer(change).address;
  const participants = [
    { agent_id: agents.reviewer.address, role: "reviewer" },
    { agent_id: fixer, role: "fixer" },
  ];
  const key = { idempotency_key: `change ${change}` };
  const made = await patiently(bed, "create_thread", { title: `review of change ${change}`, participants, ...key });
  const thread_id = String((made["thread"] as JsonObject)["thread_id"]);
  const message = { thread_id, text: `please review change ${change}`, to_role: ["reviewer"], ...key };
  await patiently(bed, "post_message", message);
  const ended = { thread_id, after_seq: 1, event_type: "resolved", wait_ms: 5000 };
  const until = performance.now() + SETTLED_MS;
  for (;;) {
    const { messages } = await patiently(bed, "read_messages", ended);
    if ((messages as JsonObject[]).length > 0) return;
    if (performance.now() > until) throw new Error(`change ${change} was not resolved: ${await storyOf(bed, agents)}`);
  }
}

/** Calls the servers in turn until one answers. */
async function patiently(bed: TwoServers, name: string, input: object): Promise<JsonObject> {
  for (let attempt = 0; ; attempt++) {
    const answer = await bed.call(attempt, "lead", name, input, "orchestrator").catch(() => undefined);
    if (answer !== undefined) return answer;
    await sleep(RETRY_MS);
  }
}

async function underKills(
  bed: TwoServers,
  agents: ReviewAgents,
  { seconds, random, pauseMs }: ReviewOptions,
  figures: ReviewFigures,
  cycle: () => Promise<void>,
): Promise<void> {
  let end = performance.now() + seconds * 1000;
  let agentAt = performance.now() + AGENT_KILL_MS / 2;
  const cycles = async () => {
    while (performance.now() < end) await cycle();
  };
  const kill = async () => {
    while (performance.now() < end) {
      await sleep(random(pauseMs));
      if (performance.now() > agentAt && (await agents.any(random).killIdle())) {
        figures.kills.agent += 1;
        agentAt = performance.now() + AGENT_KILL_MS;
      } else if (random(2) === 0) {
        if (agents.any(random).killServing()) figures.kills.serving += 1;
      } else figures.kills[await bed.killOne(random)] += 1;
    }
  };
  const sample = async () => {
    while (performance.now() < end) {
      figures.held.servers.push(heldBy(bed.servers.map(({ pid }) => pid)));
      figures.held.sidecars.push(heldBy(agents.all.flatMap(({ pids }) => pids)));
      await sleep(SAMPLE_MS);
    }
  };
  await together([cycles(), kill(), sample()], () => (end = 0)).catch((err: unknown) => {
    if (!(err instanceof Error) || !err.message.includes("was not resolved")) throw err;
    figures.lost += 1;
    process.stderr.write(`${err.message}\n`);
  });
}

/** NaN, which is not judged, if a process is missing: all halves restart within seconds. */
function heldBy(pids: readonly number[]): Held {
  const held = { mib: 0, descriptors: 0 };
  for (const pid of pids) {
    try {
      const [mib, open] = [anonymousMiB(pid), descriptors(pid)];
      held.mib += mib;
      held.descriptors += open;
    } catch {
      return { mib: Number.NaN, descriptors: Number.NaN };
    }
  }
  return held;
}

async function judge(bed: TwoServers, agents: ReviewAgents, figures: ReviewFigures): Promise<void> {
  const open = "select from threads.wake where state in ('PENDING', 'CLAIMED', 'QUEUED')";
  const isOver = async () => (await bed.database.query(open)).length === 0;
  await eventually("every wake has ended", () => isOver().catch(() => false), SETTLED_MS);
  for (const agent of agents.all) await agent.idle();
  const attempts = await bed.database.query<Attempt>(
    `select w.agent_id as agent, a.request_id as request, a.outcome
     from threads.wake_attempt a join threads.wake w using (workspace_id, wake_id)`,
  );
  for (const { address, taken } of agents.all) {
    const judged = judgeTexts(
      attempts.filter(({ agent }) => agent === address),
      taken,
    );
    figures.typed += taken.length;
    figures.doubled += judged.doubled;
    figures.false += judged.false;
    figures.unknown += judged.unknown;
  }
  figures.wakes = (await bed.database.query("select from threads.wake")).length;
}

/** For a stalled cycle: the open wakes, and each agent's requests and actions. */
async function storyOf(bed: TwoServers, agents: ReviewAgents): Promise<string> {
  const wakes = await bed.database.query("select agent_id, state, blocked_by, last_outcome, reason from threads.wake");
  const told = await Promise.all(agents.all.map(({ thread }) => thread.story()));
  return [...wakes.slice(-20).map((one) => JSON.stringify(one)), ...told].join("\n");
}
