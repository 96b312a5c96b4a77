import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, headers, type NatsConnection } from "@nats-io/transport-node";
import { until } from "../sidecar/sidecar.ts";
import type { NatsServer } from "./nats-server.ts";

/** A parsed message of a stream. */
export interface Stored {
  readonly seq: number;
  readonly subject: string;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly header: (name: string) => string;
}

/** The `traceparent` of all work. */
export const WORK_TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/** The limit of a call that may be made only once, on a busy machine. */
const PATIENCE_MS = 60_000;
const TRIES = 12;

/** A coordinator: publishes work and reads the relay's streams. */
export class Coordinator implements AsyncDisposable {
  readonly nc: NatsConnection;
  readonly js: JetStreamClient;

  private constructor(nc: NatsConnection) {
    this.nc = nc;
    this.js = jetstream(nc, { timeout: PATIENCE_MS });
  }

  static async connect({ url }: Pick<NatsServer, "url">): Promise<Coordinator> {
    return new Coordinator(await connect({ servers: url, maxReconnectAttempts: -1, waitOnFirstConnect: true }));
  }

  /** Publishes work, with a message id if `id` is given. */
  async work(
    session: string,
    body: object | string | Uint8Array,
    { role = "coding", msgId = "" } = {},
  ): Promise<number> {
    const block = headers();
    block.set("traceparent", WORK_TRACEPARENT);
    const payload = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
    const options = { headers: block, ...(msgId !== "" && { msgID: msgId }) };
    return (await this.js.publish(`sessions.${session}.work.${role}`, payload, options)).seq;
  }

  /** Sends a request to a lane's control subject; returns the answer. */
  async control(session: string, body: object | string, role = "coding"): Promise<Stored["body"]> {
    const payload = typeof body === "string" ? body : JSON.stringify(body);
    const answer = await this.nc.request(`sessions.${session}.control.${role}`, payload, { timeout: 60_000 });
    return answer.json<Stored["body"]>();
  }

  /** The messages of a subject in a stream. */
  async stored(stream: string, subject: string): Promise<readonly Stored[]> {
    const found: Stored[] = [];
    for (let seq = 1; ; ) {
      const next = { seq, next_by_subj: subject } as never;
      const message = await this.#read((jsm) => jsm.streams.getMessage(stream, next)).catch((err: Error) => {
        if (err.message.includes("no message found")) return null;
        throw err;
      });
      if (message === null) return found;
      const text = new TextDecoder().decode(message.data);
      found.push({
        ...{ seq: message.seq, subject: message.subject, text, body: bodyOf(text) },
        header: (name) => message.header?.get(name) ?? "",
      });
      seq = message.seq + 1;
    }
  }

  /** The results of a lane, once there are at least `count`. */
  results(session: string, count: number, role = "coding"): Promise<readonly Stored[]> {
    return until(`${count} results of ${session}`, 60_000, async () => {
      const found = await this.stored("RELAY_RESULTS", `sessions.${session}.results.${role}`);
      return found.length >= count ? found : undefined;
    });
  }

  /** The first event of `type` in a session, once it is stored. */
  event(session: string, type: string): Promise<Stored> {
    return until(`the event ${type}`, 60_000, async () => {
      const found = await this.stored("RELAY_EVENTS", `sessions.${session}.events`);
      return found.find(({ body }) => body["type"] === type);
    });
  }

  /** The number of works that are still in the stream. */
  async waiting(): Promise<number> {
    return (await this.#read((jsm) => jsm.streams.info("RELAY_WORK"))).state.messages;
  }

  /** The number of works of a lane's subject that are still in the stream. */
  async waitingIn(subject: string): Promise<number> {
    const info = await this.#read((jsm) => jsm.streams.info("RELAY_WORK", { subjects_filter: subject }));
    return info.state.subjects?.[subject] ?? 0;
  }

  /** Resolves when the server, after it was away, answers with the relay's streams. */
  async back(): Promise<void> {
    await until("the relay's streams", 60_000, () =>
      this.waiting().then(
        () => true as const,
        () => undefined,
      ),
    );
  }

  /** Resolves when the stream contains no more work. */
  async allSettled(): Promise<void> {
    await until("all work to be settled", 60_000, async () => ((await this.waiting()) === 0 ? true : undefined));
  }

  /** Retries if no answer comes in time: the server is busy, or was away. */
  async #read<T>(call: (jsm: JetStreamManager) => Promise<T>): Promise<T> {
    const jsm = await jetstreamManager(this.nc, { checkAPI: false });
    for (let tries = 1; ; tries++) {
      try {
        return await call(jsm);
      } catch (err) {
        if (tries >= TRIES || !(err instanceof Error) || err.name !== "TimeoutError") throw err;
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.nc.close();
  }
}

/** The seed's example of work. */
export const AUTH_WORK = {
  id: "msg_123",
  type: "work.coding",
  payload: { task: "Implement authentication", requirements: ["use JWT", "no new tables"] },
};

function bodyOf(text: string): Stored["body"] {
  try {
    return JSON.parse(text) as Stored["body"];
  } catch {
    return {};
  }
}
