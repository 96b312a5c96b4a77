import type { Msg, MsgHdrs } from "@nats-io/transport-node";
import type { Bus } from "./bus.ts";
import { type QueuedWork, removeWork } from "./queued-work.ts";
import { ackFacts } from "./stream-reader.ts";
import { subjects } from "./subjects.ts";

/** Work that the holder of a lane has received and not settled. */
export interface WorkItem {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly headers: MsgHdrs | undefined;
  /** The sequence in the work stream. */
  readonly seq: number;
  /** The number of the delivery by this consumer, from 1. */
  readonly deliveries: number;
  readonly storedAt: number;
  /** Tells the server that the work is in progress, which postpones another delivery. */
  working(): void;
  /** Gives the work back for another delivery. */
  nak(): void;
  /**
   * Acknowledges the work, which deletes it from the stream; resolves when the server confirms.
   * @throws Error if it does not
   */
  ack(): Promise<void>;
  /** Deletes the work from the stream although it was not done. @throws Error if the server does not confirm */
  term(): Promise<void>;
}

const TIMEOUT_MS = 5000;

/** Undefined: `msg` is a status message of the server. */
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

/** Work that no consumer delivers. Settling it deletes it from the stream. */
export function storedItem(bus: Bus, queued: QueuedWork): WorkItem {
  const { lane, seq, data, headers, storedAt } = queued;
  const remove = () => removeWork(bus, queued);
  return {
    ...{ subject: subjects.work(lane), data, headers, seq, deliveries: 1, storedAt },
    ...{ working: () => {}, nak: () => {}, ack: remove, term: remove },
  };
}
