import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../../fuzz/random.ts";
import type { AgentProgram } from "../../support/agents/agents-install.ts";
import { eventually } from "../../support/eventually.ts";
import { DemoSidecar } from "../../support/threads/demo-sidecar.ts";
import { type Attempt, isDoubt, judgeTexts, timesTaken } from "./judge-texts.ts";
import { RealTarget, type WakeTarget } from "./real-target.ts";
import { TwoServers, together } from "./two-servers.ts";

/** The maximum time for a lease, a restart and an agent's turn, on a busy machine. */
const SETTLED_MS = 240_000;

export interface WakeFigures {
  messages: number;
  wakes: number;
  readonly kills: { server: number; postgres: number; serving: number };
  /** The texts that agents took. */
  typed: number;
  /** The part of `typed` that real agent programs took. */
  typedToReal: number;
  /** The texts with the outcome UNKNOWN, about which nothing is claimed. */
  unknown: number;
  /** The messages after the last one that was named by a text which the agent took or may have taken. */
  lost: number;
  /** The number of times that an agent took the text of an attempt again. */
  doubled: number;
  /** Texts reported as submitted that were not taken, or reported as withdrawn that were. */
  false: number;
  /** The time from the wake's creation to its first attempt, ms, sorted. */
  readonly dispatchMs: number[];
}

export interface WakeOptions {
  readonly seconds: number;
  /** The number of demo agents. */
  readonly agents: number;
  /** Real agent programs beside them. */
  readonly real?: readonly AgentProgram[];
  readonly random: Random;
  /** The maximum time between two kills, ms; 0: no kills. */
  readonly pauseMs: number;
  /** The maximum time between two messages, ms. */
  readonly everyMs: number;
}

interface NamingAttempt extends Attempt {
  readonly upto: Readonly<Record<string, number>>;
}

/**
 * Sends messages to idle agents while servers, serving halves and PostgreSQL are killed, and judges the receipts by the
 * texts that the agents took.
 */
export async function wakeWhileKilling(options: WakeOptions): Promise<WakeFigures> {
  const { random, seconds, pauseMs, everyMs, real = [] } = options;
  await using bed = await TwoServers.start("local");
  await using stack = new AsyncDisposableStack();
  const agents: WakeTarget[] = [];
  for (let at = 0; at < options.agents; at++)
    agents.push(stack.use(await DemoSidecar.start(`town/agent-${at}`, bed.servers[0], 150)));
  for (const [at, program] of real.entries())
    agents.push(stack.use(await RealTarget.start(program, `town/agent-real-${at}`, bed.servers[0])));
  const threads = new Map<string, string>();
  for (const { address } of agents) threads.set(address, await bed.newThread(`work of ${address}`, [address]));
  const figures: WakeFigures = {
    ...{ messages: 0, wakes: 0, kills: { server: 0, postgres: 0, serving: 0 }, typed: 0, typedToReal: 0, unknown: 0 },
    ...{ lost: 0, doubled: 0, false: 0, dispatchMs: [] },
  };
  let end = performance.now() + seconds * 1000;
  const post = async () => {
    while (performance.now() < end) {
      const thread_id = threads.get((agents[random(agents.length)] as WakeTarget).address);
      const key = `m-${figures.messages++}`;
      const message = { thread_id, text: `message ${key}`, idempotency_key: key };
      for (let attempt = 0; ; attempt++) {
        const isSaid = await bed.call(attempt, "lead", "post_message", message, "orchestrator").then(
          () => true,
          () => false,
        );
        if (isSaid) break;
        await sleep(50);
      }
      await sleep(random(everyMs));
    }
  };
  const kill = async () => {
    while (pauseMs > 0 && performance.now() < end) {
      await sleep(random(pauseMs));
      if (random(2) === 0) {
        const isKilled = (agents[random(agents.length)] as WakeTarget).killServing();
        if (isKilled) figures.kills.serving += 1;
      } else figures.kills[await bed.killOne(random)] += 1;
    }
  };
  await together([post(), kill()], () => (end = 0));
  // Makes all claimed work available at once, as if its leases had expired, even work that is still in progress.
  const endLeases = () =>
    bed.database.query("update threads.wake set lease_until = now() where lease_until is not null");
  await eventually(
    "the leases are over",
    () =>
      endLeases().then(
        () => true,
        () => false,
      ),
    SETTLED_MS,
  );
  await eventually("every wake has ended", () => isSettled(bed).catch(() => false), SETTLED_MS);
  for (const agent of agents) await agent.idle?.();
  await judge(bed, agents, threads, figures);
  return figures;
}

/** Whether no wake is open and no message is waiting for one. */
async function isSettled(bed: TwoServers): Promise<boolean> {
  const [row] = await bed.database.query<{ open: number; waiting: number }>(
    `select (select count(*)::int from threads.wake where state in ('PENDING', 'CLAIMED', 'QUEUED', 'DEFERRED')) as open,
       (select count(*)::int from threads.participant p join threads.thread t using (workspace_id, thread_id)
         where p.agent_id like 'town/agent-%' and greatest(p.read_seq, p.offered_seq) < t.last_seq) as waiting`,
  );
  return row !== undefined && row.open === 0 && row.waiting === 0;
}

async function judge(
  bed: TwoServers,
  agents: readonly WakeTarget[],
  threads: ReadonlyMap<string, string>,
  figures: WakeFigures,
): Promise<void> {
  const attempts = await bed.database.query<NamingAttempt>(
    `select w.agent_id as agent, a.request_id as request, a.outcome, a.upto
     from threads.wake_attempt a join threads.wake w using (workspace_id, wake_id) order by a.begun_at`,
  );
  for (const agent of agents) {
    const taken = agent.taken;
    figures.typed += taken.length;
    if (agent instanceof RealTarget) figures.typedToReal += taken.length;
    const own = attempts.filter((one) => one.agent === agent.address);
    const thread = threads.get(agent.address) ?? "";
    let named = 0;
    const judged = judgeTexts(own, taken);
    figures.doubled += judged.doubled;
    figures.unknown += judged.unknown;
    figures.false += judged.false;
    for (const { request, outcome, upto } of own)
      if (timesTaken(request, taken) > 0 || isDoubt(outcome)) named = Math.max(named, upto[thread] ?? 0);
    const [row] = await bed.database.query<{ last: number }>(
      "select coalesce(max(seq), 0)::int as last from threads.message where thread_id = $1 and sender = 'lead'",
      [thread],
    );
    figures.lost += Math.max(0, (row?.last ?? 0) - named);
  }
  const wakes = await bed.database.query<{ ms: number }>(
    `select extract(epoch from a.begun_at - w.created_at) * 1000 as ms from threads.wake w
     join threads.wake_attempt a using (workspace_id, wake_id) where a.attempt = 1 and w.reason like 'message %'`,
  );
  figures.wakes = (await bed.database.query("select from threads.wake")).length;
  figures.dispatchMs.push(...wakes.map((row) => Number(row.ms)).sort((a, b) => a - b));
}
