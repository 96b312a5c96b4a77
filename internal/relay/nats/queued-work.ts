import { JetStreamApiCodes, JetStreamApiError, type NextMsgRequest, type StoredMsg } from "@nats-io/jetstream";
import type { MsgHdrs } from "@nats-io/transport-node";
import type { Bus } from "./bus.ts";
import { type LaneName, laneOfSubject, subjects } from "./subjects.ts";

/** Work as it lies in the stream, without a delivery. */
export interface QueuedWork {
  readonly lane: LaneName;
  readonly seq: number;
  readonly data: Uint8Array;
  readonly headers: MsgHdrs | undefined;
  /** When it was stored, ms since 1970. */
  readonly storedAt: number;
}

/** How much work waits in a lane, with what is being done. */
export async function countQueued(bus: Bus, lane: LaneName): Promise<number> {
  const subject = subjects.work(lane);
  const info = await bus.jsm.streams.info(bus.streams.work, { subjects_filter: subject });
  return info.state.subjects?.[subject] ?? 0;
}

/** The work of a lane, the oldest first. */
export function queuedWork(bus: Bus, lane: LaneName): AsyncGenerator<QueuedWork> {
  return storedFrom(bus, subjects.work(lane));
}

/**
 * The oldest work of a lane, whether the server finds it by its subject or not: one that was killed can count a message
 * there and give it by its sequence only.
 */
export async function oldestWork(bus: Bus, lane: LaneName): Promise<QueuedWork | undefined> {
  if ((await countQueued(bus, lane)) === 0) return undefined;
  for await (const queued of queuedWork(bus, lane)) return queued;
  const { state } = await bus.jsm.streams.info(bus.streams.work, { deleted_details: true });
  const deleted = new Set(state.deleted);
  const subject = subjects.work(lane);
  for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
    if (deleted.has(seq)) continue;
    const message = await bus.jsm.streams.getMessage(bus.streams.work, { seq });
    if (message?.subject === subject) return queuedAs(lane, message);
  }
  return undefined;
}

/** All work that waits, the oldest first. What is in no lane is left out. */
export function allQueuedWork(bus: Bus): AsyncGenerator<QueuedWork> {
  return storedFrom(bus, "sessions.*.work.*");
}

/** Takes work out of the stream, whoever holds it; it need not be there any more. */
export async function removeWork(bus: Bus, { seq }: Pick<QueuedWork, "seq">): Promise<void> {
  try {
    await bus.jsm.streams.deleteMessage(bus.streams.work, seq, false);
  } catch (err) {
    const isGone = err instanceof JetStreamApiError && err.code === JetStreamApiCodes.NoMessageFound;
    if (!isGone) throw err;
  }
}

/** A work queue lets no second consumer see its messages, so each is asked for by its sequence. */
async function* storedFrom(bus: Bus, subject: string): AsyncGenerator<QueuedWork> {
  for (let seq = 1; ; ) {
    const next: NextMsgRequest & { readonly seq: number } = { seq, next_by_subj: subject };
    const message = await bus.jsm.streams.getMessage(bus.streams.work, next);
    if (message === null) return;
    seq = message.seq + 1;
    const lane = laneOfSubject(message.subject);
    if (lane !== undefined) yield queuedAs(lane, message);
  }
}

function queuedAs(lane: LaneName, { seq, data, header, timestamp }: StoredMsg): QueuedWork {
  return { lane, seq, data, headers: header, storedAt: Date.parse(timestamp) };
}
