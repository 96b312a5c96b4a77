import {
  AckPolicy,
  type ConsumerInfo,
  DeliverPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  ReplayPolicy,
} from "@nats-io/jetstream";
import { raceSignal, within } from "../../base/abort.ts";
import { systemClock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Bus } from "./bus.ts";
import { oldestWork } from "./queued-work.ts";
import { consumerName, consumerPrefix, type LaneName, subjects } from "./subjects.ts";
import { storedItem, type WorkItem, workItem } from "./work-item.ts";

/** The next holder, or the server, has deleted the consumer. */
export class ConsumerGone extends DomainError {
  constructor(name: string) {
    super("precondition", `the consumer ${name} is gone`);
  }
}

/** The error code for a filter that overlaps with another holder's consumer. */
const OVERLAPS = 10100;
const NS_PER_MS = 1_000_000;
const INACTIVE_MS = 3_600_000;
/** How long one pull waits at the server. */
const PULL_MS = 30_000;
const NAMES_PAGE = 1024;

/** The consumer with which the holder of a generation pulls the lane's work, one piece at a time. */
export class LaneConsumer {
  readonly name: string;
  readonly #bus: Bus;
  readonly #lane: LaneName;
  readonly #generation: number;
  #ackWaitMs = 0;

  constructor(bus: Bus, lane: LaneName, generation: number) {
    this.#bus = bus;
    this.#lane = lane;
    this.#generation = generation;
    this.name = consumerName(lane, generation);
  }

  /** Creates the consumer. False: the lane has another consumer. */
  async create(ackWaitMs: number): Promise<boolean> {
    this.#ackWaitMs = ackWaitMs;
    try {
      await this.#bus.jsm.consumers.add(this.#bus.streams.work, {
        durable_name: this.name,
        filter_subject: subjects.work(this.#lane),
        ack_policy: AckPolicy.Explicit,
        ack_wait: ackWaitMs * NS_PER_MS,
        deliver_policy: DeliverPolicy.All,
        replay_policy: ReplayPolicy.Instant,
        max_ack_pending: 1,
        max_deliver: -1,
        inactive_threshold: INACTIVE_MS * NS_PER_MS,
      });
      return true;
    } catch (err) {
      if (err instanceof JetStreamApiError && err.code === OVERLAPS) return false;
      throw err;
    }
  }

  delete(): Promise<void> {
    return this.#deleteNamed(this.name);
  }

  /** Deletes the lane's consumer of another generation. */
  deleteOf(generation: number): Promise<void> {
    return this.#deleteNamed(consumerName(this.#lane, generation));
  }

  /** Deletes the consumers of all earlier generations of the lane. */
  async deleteEarlier(): Promise<void> {
    const prefix = consumerPrefix(this.#lane);
    for (let offset = 0; ; offset += NAMES_PAGE) {
      const subject = `$JS.API.CONSUMER.NAMES.${this.#bus.streams.work}`;
      const answer = await this.#bus.nc.request(subject, JSON.stringify({ offset }), { timeout: 5000 });
      const { consumers, total } = answer.json<{ consumers?: readonly string[] | null; total: number }>();
      for (const name of consumers ?? []) {
        if (name.startsWith(prefix) && Number(name.slice(prefix.length)) < this.#generation)
          await this.#deleteNamed(name);
      }
      if (offset + NAMES_PAGE >= total) return;
    }
  }

  /**
   * The oldest work of the lane that the consumer has passed and will not deliver. A server that was killed can skip a
   * stored message, or restore one that was acknowledged.
   * @throws ConsumerGone
   * @throws Error if the server does not answer
   */
  async passedOver(): Promise<WorkItem | undefined> {
    const { num_ack_pending: pending, delivered } = await this.#info();
    if (pending > 0) return undefined;
    const oldest = await oldestWork(this.#bus, this.#lane);
    if (oldest === undefined || oldest.seq > delivered.stream_seq) return undefined;
    return storedItem(this.#bus, oldest);
  }

  /**
   * Creates the consumer again, so that the server redelivers work that was lost on the way to the holder at once
   * instead of after `ack_wait`. The holder must have no unsettled work.
   * @throws ConsumerGone
   * @throws Error if the server does not answer
   */
  async forgetLost(): Promise<void> {
    const { num_ack_pending: pending } = await this.#info();
    if (pending === 0) return;
    await this.delete();
    if (!(await this.create(this.#ackWaitMs))) throw new ConsumerGone(this.name);
  }

  async #info(): Promise<ConsumerInfo> {
    try {
      return await this.#bus.jsm.consumers.info(this.#bus.streams.work, this.name);
    } catch (err) {
      if (err instanceof JetStreamApiError && err.code === JetStreamApiCodes.ConsumerNotFound)
        throw new ConsumerGone(this.name);
      throw err;
    }
  }

  /**
   * Pulls the next piece of work. Undefined: none came within one pull, or the connection was lost.
   * @throws ConsumerGone, or the signal's reason
   */
  async pull(signal: AbortSignal): Promise<WorkItem | undefined> {
    const bus = this.#bus;
    const { promise, resolve, reject } = Promise.withResolvers<WorkItem | undefined>();
    const subscription = bus.nc.subscribe(bus.inbox(), {
      callback: (err, msg) => {
        if (err) return resolve(undefined);
        const item = workItem(bus, msg);
        if (item !== undefined) return resolve(item);
        const code = msg.headers?.code ?? 0;
        if (code === 503 || /deleted|not found/i.test(msg.headers?.description ?? "")) {
          return reject(new ConsumerGone(this.name));
        }
        if (code !== 100) resolve(undefined);
      },
    });
    const onChange = () => {
      if (!bus.isConnected) resolve(undefined);
    };
    const unlisten = bus.changes.listen(onChange);
    try {
      signal.throwIfAborted();
      const request = JSON.stringify({ batch: 1, expires: PULL_MS * NS_PER_MS });
      const subject = `$JS.API.CONSUMER.MSG.NEXT.${bus.streams.work}.${this.name}`;
      bus.nc.publish(subject, request, { reply: subscription.getSubject() });
      return await within(systemClock, PULL_MS + 5000, raceSignal(promise, signal));
    } finally {
      unlisten();
      subscription.unsubscribe();
    }
  }

  async #deleteNamed(name: string): Promise<void> {
    try {
      await this.#bus.jsm.consumers.delete(this.#bus.streams.work, name);
    } catch (err) {
      if (!(err instanceof JetStreamApiError) || err.code !== JetStreamApiCodes.ConsumerNotFound) throw err;
    }
  }
}
