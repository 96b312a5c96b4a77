import type { Msg, MsgHdrs } from "@nats-io/transport-node";
import type { Bus } from "./bus.ts";
import { type QueuedWork, removeWork } from "./queued-work.ts";
import { ackFacts } from "./stream-reader.ts";
import { subjects } from "./subjects.ts";

/** Work that the holder of a lane has got and that is not settled. */
export interface WorkItem {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly headers: MsgHdrs | undefined;
  /** In the work stream. */
  readonly seq: number;
  /** Counts from 1; of this consumer only. */
  readonly deliveries: number;
  readonly storedAt: number;
  /** Says that the work goes on, so that it is not delivered again. */
  working(): void;
  /** Gives it back. */
  nak(): void;
  /** Takes it out of the stream; resolves when the server has said so. @throws Error when it does not */
  ack(): Promise<void>;
  /** Takes it out for good without being done. */
  term(): Promise<void>;
}

const TIMEOUT_MS = 5000;

/** Undefined: a status of the server instead of a message. */
export function workItem(bus: Bus, msg: Msg): WorkItem | undefined {
  const facts = ackFacts(msg.reply);
  const { reply } = msg;
  if (facts === undefined || reply === undefined) return undefined;
  const settle = async (word: string) => {
    await bus.nc.request(reply, word, { timeout: TIMEOUT_MS });
  };
  return {
    ...facts,
    subject: msg.subject,
    data: msg.data,
    headers: msg.headers,
    working: () => bus.nc.publish(reply, "+WPI"),
    nak: () => bus.nc.publish(reply, "-NAK"),
    ack: () => settle("+ACK"),
    term: () => settle("+TERM"),
  };
}

/** Work that no consumer delivers: it is settled by taking it out of the stream. */
export function storedItem(bus: Bus, queued: QueuedWork): WorkItem {
  const { lane, seq, data, headers, storedAt } = queued;
  const remove = () => removeWork(bus, queued);
  return {
    ...{ subject: subjects.work(lane), data, headers, seq, deliveries: 1, storedAt },
    ...{ working: () => {}, nak: () => {}, ack: remove, term: remove },
  };
}
