import { AckPolicy, DeliverPolicy, ReplayPolicy } from "@nats-io/jetstream";
import type { Msg, MsgHdrs } from "@nats-io/transport-node";
import { DomainError } from "../../base/errors.ts";
import type { Bus } from "./bus.ts";

/** A stored message of a stream. */
export interface ReadMessage {
  readonly subject: string;
  readonly seq: number;
  /** When the message was stored, ms since 1970. */
  readonly storedAt: number;
  readonly data: Uint8Array;
  readonly headers: MsgHdrs | undefined;
}

export interface ReadOptions {
  readonly stream: string;
  readonly subject: string;
  /** The first sequence; undefined: the oldest. */
  readonly from?: number;
}

const TIMEOUT_MS = 5000;
const NO_MESSAGES = 404;
const TIMED_OUT = 408;
const BATCH = 256;
const NS_PER_MS = 1_000_000;
const INACTIVE_NS = 30_000 * NS_PER_MS;

/**
 * Reads the messages of a subject that a stream holds now, in order.
 * @throws Error if the server does not answer in time
 */
export async function readStream(bus: Bus, { stream, subject, from }: ReadOptions): Promise<readonly ReadMessage[]> {
  const info = await bus.jsm.consumers.add(stream, {
    filter_subject: subject,
    ack_policy: AckPolicy.None,
    replay_policy: ReplayPolicy.Instant,
    inactive_threshold: INACTIVE_NS,
    mem_storage: true,
    num_replicas: 1,
    ...(from === undefined
      ? { deliver_policy: DeliverPolicy.All }
      : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: Math.max(1, from) }),
  });
  const messages: ReadMessage[] = [];
  try {
    while (messages.length < info.num_pending) {
      const count = Math.min(BATCH, info.num_pending - messages.length);
      const batch = await pullBatch(bus, stream, info.name, count);
      if (batch.length === 0) break; // the pending messages have left the stream meanwhile
      messages.push(...batch);
    }
  } finally {
    bus.jsm.consumers.delete(stream, info.name).catch(() => {}); // otherwise the server deletes it when it is inactive
  }
  return messages;
}

/** Pulls up to `count` messages; fewer if the server has no more. */
function pullBatch(bus: Bus, stream: string, consumer: string, count: number): Promise<readonly ReadMessage[]> {
  const inbox = bus.inbox();
  const got: ReadMessage[] = [];
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      subscription.unsubscribe();
      reject(new DomainError("deadline", `reading ${stream} took longer than ${TIMEOUT_MS} ms`));
    }, TIMEOUT_MS);
    // The consumer is lost, for example by a restart of the server: the messages so far are incomplete.
    const fail = (code: number) => {
      clearTimeout(timer);
      subscription.unsubscribe();
      reject(new DomainError("unavailable", `reading ${stream} was interrupted with ${code}`));
    };
    const finish = () => {
      clearTimeout(timer);
      subscription.unsubscribe();
      resolve(got);
    };
    const subscription = bus.nc.subscribe(inbox, {
      callback: (err, msg) => {
        if (err) return;
        const message = readMessage(msg);
        const code = msg.headers?.code ?? 0;
        if (message !== undefined) got.push(message);
        else if (code !== NO_MESSAGES && code !== TIMED_OUT) return fail(code);
        if (message === undefined || got.length >= count) finish();
      },
    });
    const request = { batch: count, no_wait: true };
    bus.nc.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`, JSON.stringify(request), { reply: inbox });
  });
}

/** Undefined: `msg` is a status message of the server. */
function readMessage(msg: Msg): ReadMessage | undefined {
  const facts = ackFacts(msg.reply);
  if (facts === undefined) return undefined;
  return { subject: msg.subject, seq: facts.seq, storedAt: facts.storedAt, data: msg.data, headers: msg.headers };
}

/** The delivery's metadata in its reply subject; undefined: `reply` is not that of a delivery. */
export function ackFacts(
  reply: string | undefined,
): { readonly seq: number; readonly deliveries: number; readonly storedAt: number } | undefined {
  const tokens = reply?.split(".") ?? [];
  if (tokens[0] !== "$JS" || tokens[1] !== "ACK" || tokens.length < 9) return undefined;
  // Newer servers insert the domain and the account, and may append a token.
  const at = tokens.length >= 11 ? 6 : 4;
  const [deliveries, seq, , stamp = "0"] = tokens.slice(at);
  return { deliveries: Number(deliveries), seq: Number(seq), storedAt: Number(BigInt(stamp) / BigInt(NS_PER_MS)) };
}
