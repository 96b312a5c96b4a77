import { expect, it } from "vitest";
import { oldestWork } from "./queued-work.ts";

const LANE = { sessionId: "s", role: "r" };
const OWN = "sessions.s.work.r";

/** A stream whose index by subject lacks messages that it counts, as nats-server 2.9 leaves it after a kill. */
function damaged(stored: Readonly<Record<number, string>>, counted: number) {
  const seqs = Object.keys(stored).map(Number);
  const [first_seq, last_seq] = [Math.min(...seqs) - 1, Math.max(...seqs) + 1];
  const all = Array.from({ length: last_seq - first_seq + 1 }, (_, i) => first_seq + i);
  const state = { first_seq, last_seq, subjects: { [OWN]: counted }, deleted: all.filter((seq) => !(seq in stored)) };
  const getMessage = async (_stream: string, query: { readonly seq: number; readonly next_by_subj?: string }) => {
    if (query.next_by_subj !== undefined) return null;
    const subject = stored[query.seq];
    if (subject === undefined) throw new Error(`no message ${query.seq}`);
    return { seq: query.seq, subject, data: new Uint8Array(), header: undefined, timestamp: "2026-01-01T00:00:00Z" };
  };
  return {
    streams: { work: "W" },
    jsm: { streams: { info: async () => ({ state }), getMessage } },
  } as unknown as Parameters<typeof oldestWork>[0];
}

it("finds messages by their sequence that the server counts but does not find by subject", async () => {
  const bus = damaged({ 14: "sessions.other.work.r", 17: OWN, 20: OWN }, 2);
  expect(await oldestWork(bus, LANE)).toMatchObject({ lane: LANE, seq: 17 });
});

it("stops searching if nothing is counted, or nothing is there", async () => {
  expect(await oldestWork(damaged({ 17: OWN }, 0), LANE)).toBeUndefined();
  expect(await oldestWork(damaged({ 14: "sessions.other.work.r" }, 1), LANE)).toBeUndefined();
});
