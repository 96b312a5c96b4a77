import { JetStreamApiCodes, JetStreamApiError, type NextMsgRequest, type StoredMsg } from "@nats-io/jetstream";
import type { MsgHdrs } from "@nats-io/transport-node";
import type { Bus } from "./bus.ts";
import { type LaneName, laneOfSubject, subjects } from "./subjects.ts";

/** A stored message of the work stream, read without a delivery. */
export interface QueuedWork {
  readonly lane: LaneName;
  readonly seq: number;
  readonly data: Uint8Array;
  readonly headers: MsgHdrs | undefined;
  /** When the message was stored, ms since 1970. */
  readonly storedAt: number;
}

/** The number of messages in a lane's queue, including the work in progress. */
export async function countQueued(bus: Bus, lane: LaneName): Promise<number> {
  const subject = subjects.work(lane);
  const info = await bus.jsm.streams.info(bus.streams.work, { subjects_filter: subject });
  return info.state.subjects?.[subject] ?? 0;
}

/** Yields the work of a lane, the oldest first. */
export function queuedWork(bus: Bus, lane: LaneName): AsyncGenerator<QueuedWork> {
  return storedFrom(bus, subjects.work(lane));
}

/**
 * The oldest work of a lane, even if the server's index by subject lacks it: after a kill the server can count a
 * message there and return it by its sequence only.
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

/** Yields all stored work, the oldest first. Skips messages whose subject names no lane. */
export function allQueuedWork(bus: Bus): AsyncGenerator<QueuedWork> {
  return storedFrom(bus, "sessions.*.work.*");
}

/** Deletes work from the stream, whichever relay holds it. Succeeds if it is already gone. */
export async function removeWork(bus: Bus, { seq }: Pick<QueuedWork, "seq">): Promise<void> {
  try {
    await bus.jsm.streams.deleteMessage(bus.streams.work, seq, false);
  } catch (err) {
    const isGone = err instanceof JetStreamApiError && err.code === JetStreamApiCodes.NoMessageFound;
    if (!isGone) throw err;
  }
}

/** Reads each message by its sequence, since a work queue allows no second consumer. */
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
