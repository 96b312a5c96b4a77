import { randomUUID } from "node:crypto";
import { JetStreamApiCodes, JetStreamApiError } from "@nats-io/jetstream";
import { InvalidArgumentError } from "@nats-io/transport-node";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Bus } from "./bus.ts";
import { notPermitted } from "./not-permitted.ts";
import { readStream } from "./stream-reader.ts";
import { type LaneName, subjects } from "./subjects.ts";

/** Another relay has written to the lane's log: this holder has lost the lane and must not touch it again. */
export class Fenced extends DomainError {
  constructor({ sessionId, role }: LaneName) {
    super("precondition", `another relay has taken the lane ${sessionId}:${role}`);
  }
}

/** The log is empty although this holder wrote to it: the server lost its store, or the records have expired. */
export class LogLost extends DomainError {
  constructor({ sessionId, role }: LaneName) {
    super("precondition", `the log of the lane ${sessionId}:${role} is gone`);
  }
}

/** NATS is back without its stored data, so no log is valid any more. */
export class StoreLost extends DomainError {
  constructor() {
    super("precondition", "NATS is back without its stored data");
  }
}

/** A record in the log. */
export interface LogEntry {
  readonly seq: number;
  /** The record as JSON. */
  readonly text: string;
}

const AGAIN_MS = 100;
const decoder = new TextDecoder();

/**
 * The log of one lane. Each append names the sequence that it follows, so of two writers one fails and is fenced. Each
 * record has a nonce: a writer without an acknowledgement searches the log for it.
 */
export class LaneLog {
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #lane: LaneName;
  #last = 0;
  #isFenced = false;

  constructor(bus: Bus, clock: Clock, lane: LaneName) {
    this.#bus = bus;
    this.#clock = clock;
    this.#lane = lane;
  }

  /** The sequence of the last message that this writer knows, a record or a reply; 0: none. */
  get last(): number {
    return this.#last;
  }

  get isFenced(): boolean {
    return this.#isFenced;
  }

  /** Makes every further append fail. */
  fence(): Fenced {
    this.#isFenced = true;
    return new Fenced(this.#lane);
  }

  /** Reads all records, the oldest first. The next append follows the last message, a record or a reply. */
  async read(): Promise<readonly LogEntry[]> {
    return (await this.#readAll()).filter(isRecord);
  }

  /** Reads all messages of the log's subject: records, and replies that the server has sent there. */
  async #readAll(): Promise<readonly LogEntry[]> {
    const stream = this.#bus.streams.lanes;
    const messages = await readStream(this.#bus, { stream, subject: subjects.lane(this.#lane) });
    this.#last = messages.at(-1)?.seq ?? 0;
    return messages.map(({ seq, data }) => ({ seq, text: decoder.decode(data) }));
  }

  /**
   * Appends a record, across lost connections.
   * @throws Fenced if another writer was first; LogLost; the server's error if the record is invalid; the signal's
   * reason
   */
  async append(record: object, signal: AbortSignal): Promise<void> {
    const nonce = randomUUID();
    const text = JSON.stringify({ ...record, nonce });
    const subject = subjects.lane(this.#lane);
    try {
      for (;;) {
        if (this.#isFenced) throw new Fenced(this.#lane);
        await this.#bus.connected(signal);
        const before = this.#last;
        try {
          this.#last = await this.#tryAppend(text, before);
          return;
        } catch (err) {
          this.#bus.refuses(subject, notPermitted(err) !== undefined);
          if (!(await this.#mayTryAgain(err, nonce, before, signal))) return;
        }
        await this.#clock.sleep(AGAIN_MS, signal);
      }
    } finally {
      this.#bus.refuses(subject, false);
    }
  }

  async #tryAppend(text: string, before: number): Promise<number> {
    const ack = await this.#bus.js.publish(subjects.lane(this.#lane), text, {
      expect: { lastSubjectSequence: before },
      retries: 0,
    });
    return ack.seq;
  }

  /** Finds out after a failed append whether to try again. False: the record is in the log. @throws Fenced, LogLost */
  async #mayTryAgain(err: unknown, nonce: string, before: number, signal: AbortSignal): Promise<boolean> {
    if (err instanceof InvalidArgumentError) throw err;
    const isRefused = err instanceof JetStreamApiError;
    if (isRefused && err.code !== JetStreamApiCodes.StreamWrongLastSequence && err.status === 400) throw err;
    await this.#bus.connected(signal);
    const entries = await this.#readAll().catch(() => undefined);
    if (entries === undefined) return true;
    const ours = entries.find(({ text }) => nonceOf(text) === nonce);
    if (ours !== undefined) {
      this.#last = ours.seq; // records after it are another writer's, which has fenced this one
      return false;
    }
    if (entries.length === 0 && before > 0) {
      this.#isFenced = true;
      throw new LogLost(this.#lane);
    }
    const since = entries.filter(({ seq }) => seq > before);
    if (this.#last < before || since.some(isRecord)) throw this.fence();
    const isStale = isRefused && err.code === JetStreamApiCodes.StreamWrongLastSequence;
    if (isStale && since.length === 0) throw this.fence();
    return true; // at most replies of the server came between, which claim nothing
  }
}

/**
 * False for a reply of the server: any user can name the log's subject as the reply subject of a request. Only relays
 * can write records there.
 */
function isRecord({ text }: LogEntry): boolean {
  return typeof nonceOf(text) === "string";
}

function nonceOf(text: string): unknown {
  try {
    return (JSON.parse(text) as { readonly nonce?: unknown }).nonce;
  } catch {
    return undefined;
  }
}
