import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../../fuzz/random.ts";
import { eventually } from "../../support/eventually.ts";
import { TwoServers, together } from "./two-servers.ts";

const WRITERS = 32;
const THREADS = 100;
const PARTICIPANTS = 20;
/** The time for a database to recover after its last kill. */
const BACK_MS = 120_000;

export interface WriteFigures {
  acknowledged: number;
  /** Posts that were answered as already stored: the first answer was lost. */
  duplicates: number;
  /** Calls without an answer that were repeated with the same key. */
  retries: number;
  readonly kills: { server: number; postgres: number };
  /** Posts that were acknowledged but are missing, or are stored elsewhere. */
  lost: number;
  /** Posts that are stored twice with one key. */
  doubled: number;
  /** Threads whose numbers are not consecutive from 1. */
  gaps: number;
  /** True if both hash chains are intact. */
  verified: boolean;
}

export interface WriteOptions {
  readonly seconds: number;
  readonly random: Random;
  /** The maximum time between two kills, ms. */
  readonly pauseMs: number;
  readonly threads?: number;
}

interface Acknowledged {
  readonly thread: string;
  readonly id: string;
  readonly seq: number;
}

/** Runs 32 writers in 100 threads of 20 agents, while two servers and their PostgreSQL are killed at random. */
export async function writeWhileKilling(options: WriteOptions): Promise<WriteFigures> {
  const { random, seconds, pauseMs, threads: count = THREADS } = options;
  await using bed = await TwoServers.start("none");
  const agents = Array.from({ length: PARTICIPANTS }, (_, at) => `town/agent-${at}`);
  const threads: string[] = [];
  for (let at = 0; at < count; at++) threads.push(await bed.newThread(`thread ${at}`, agents));
  const acknowledged = new Map<string, Acknowledged>();
  const figures: WriteFigures = {
    ...{ acknowledged: 0, duplicates: 0, retries: 0, kills: { server: 0, postgres: 0 } },
    ...{ lost: 0, doubled: 0, gaps: 0, verified: false },
  };
  let end = performance.now() + seconds * 1000;
  const write = async (writer: number) => {
    for (let turn = 0; performance.now() < end; turn++) {
      const thread = threads[random(threads.length)] as string;
      const agent = agents[random(agents.length)] as string;
      const key = `${writer}-${turn}`;
      const answer = await insist(
        bed,
        agent,
        { thread_id: thread, text: `said ${key}`, idempotency_key: key },
        figures,
      );
      if (answer["duplicate"] === true) figures.duplicates += 1;
      const id = answer["message_id"] as string;
      acknowledged.set(`${agent} ${thread} ${key}`, { thread, id, seq: Number(answer["seq"]) });
    }
  };
  const kill = async () => {
    while (performance.now() < end) {
      await sleep(random(pauseMs));
      figures.kills[await bed.killOne(random)] += 1;
    }
  };
  await together([kill(), ...Array.from({ length: WRITERS }, (_, writer) => write(writer))], () => (end = 0));
  figures.acknowledged = acknowledged.size;
  await judge(bed, acknowledged, figures);
  return figures;
}

/** Repeats a post until it is acknowledged, alternating between the servers, always with the same key. */
async function insist(bed: TwoServers, agent: string, post: object, figures: WriteFigures) {
  for (let attempt = 0; ; attempt++) {
    try {
      return await bed.call(attempt, agent, "post_message", post);
    } catch (err) {
      const { kind, message } = err as { readonly kind?: string; readonly message: string };
      const isAway = kind === "unavailable" || kind === "deadline" || /timeout|abort/i.test(message);
      if (!isAway || attempt > 2000) throw err;
      figures.retries += 1;
      await sleep(50);
    }
  }
}

async function judge(bed: TwoServers, said: ReadonlyMap<string, Acknowledged>, figures: WriteFigures): Promise<void> {
  const isBack = () =>
    bed.database.query("select 1").then(
      () => true,
      () => false,
    );
  await eventually("the database is back", isBack, BACK_MS);
  const rows = await bed.database.query<{ key: string; thread: string; id: string; seq: number }>(
    `select sender || ' ' || thread_id || ' ' || idem_key as key, thread_id as thread, message_id as id, seq::int as seq
     from threads.message where idem_key is not null`,
  );
  const stored = new Map(rows.map((row) => [row.key, row]));
  figures.doubled = rows.length - stored.size;
  for (const [key, { thread, id, seq }] of said) {
    const row = stored.get(key);
    if (row?.thread !== thread || row.id !== id || row.seq !== seq) figures.lost += 1;
  }
  const gaps = await bed.database.query(
    `select t.thread_id from threads.thread t left join threads.message m using (workspace_id, thread_id)
     group by t.workspace_id, t.thread_id, t.last_seq
     having count(m.seq) <> t.last_seq or coalesce(max(m.seq), 0) <> t.last_seq or coalesce(min(m.seq), 1) <> 1`,
  );
  figures.gaps = gaps.length;
  const verified = async () => {
    figures.verified = (await bed.call(0, "auditor", "verify_audit", {}, "auditor"))["ok"] === true;
    return true;
  };
  await eventually("the chains are checked", () => verified().catch(() => false), BACK_MS);
}
