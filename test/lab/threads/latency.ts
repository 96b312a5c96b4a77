import { TwoServers } from "./two-servers.ts";

export interface Latency {
  /** The time from the call of a post to the answer for an agent that waits at the same server, ms, sorted. */
  readonly same: number[];
  /** The same for an agent that waits at the other server. */
  readonly other: number[];
  /** The time from the call of a post to its own answer. */
  readonly posted: number[];
}

/** Measures posts of one agent to a waiting one, one after the other. */
export async function measureLatency(rounds: number): Promise<Latency> {
  await using bed = await TwoServers.start("none");
  const found: Latency = { same: [], other: [], posted: [] };
  for (const [at, into] of [
    [0, found.same],
    [1, found.other],
  ] as const) {
    const thread_id = await bed.newThread("latency", ["town/waits", "town/says"]);
    for (let round = 0; round < rounds; round++) {
      const waiting = bed
        .call(at, "town/waits", "read_messages", { thread_id, after_seq: round, wait_ms: 15_000 })
        .then(() => performance.now());
      await bed.call(0, "town/says", "get_thread", { thread_id }); // the wait has begun
      const began = performance.now();
      await bed.call(0, "town/says", "post_message", { thread_id, text: `round ${round}` });
      found.posted.push(performance.now() - began);
      into.push((await waiting) - began);
    }
  }
  for (const values of Object.values(found) as number[][]) values.sort((a, b) => a - b);
  return found;
}
