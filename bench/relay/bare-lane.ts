import { AckPolicy, type Consumer, RetentionPolicy, StorageType } from "@nats-io/jetstream";
import type { Coordinator } from "../../test/support/relay/relay-bed.ts";

const [WORK, RESULTS, LANES] = ["BARE_WORK", "BARE_RESULTS", "BARE_LANES"];
const NEXT_MS = 60_000;

/** Creates streams with the same settings as the relay's own. */
export async function makeBareStreams({ js }: Coordinator): Promise<void> {
  const { streams } = await js.jetstreamManager();
  const storage = StorageType.File;
  const minutes = (count: number) => count * 60_000_000_000;
  const unique = { storage, duplicate_window: minutes(2) };
  await streams.add({ ...unique, name: WORK, subjects: ["bare.work.*"], retention: RetentionPolicy.Workqueue });
  await streams.add({ ...unique, name: RESULTS, subjects: ["bare.results.*"], duplicate_window: minutes(15) });
  await streams.add({ ...unique, name: LANES, subjects: ["bare.lanes.*"] });
}

/** The JetStream calls of a lane's turns, without a relay or an agent. */
export class BareLane {
  readonly #js: Coordinator["js"];
  readonly #name: string;
  readonly #consumer: Consumer;
  #last = 0;
  #turns = 0;

  private constructor(js: Coordinator["js"], name: string, consumer: Consumer) {
    this.#js = js;
    this.#name = name;
    this.#consumer = consumer;
  }

  static async create({ js }: Coordinator, name: string): Promise<BareLane> {
    const { consumers } = await js.jetstreamManager();
    const config = { durable_name: name, filter_subject: `bare.work.${name}`, ack_policy: AckPolicy.Explicit };
    await consumers.add(WORK, config);
    return new BareLane(js, name, await js.consumers.get(WORK, name));
  }

  /** Seven calls in a row: work in, work out, prompted, answered, result, published, acknowledged. */
  async turn(work: string, result: string): Promise<void> {
    await this.#js.publish(`bare.work.${this.#name}`, work);
    const item = await this.#consumer.next({ expires: NEXT_MS });
    if (item === null) throw new Error("the work did not arrive");
    await this.#record({ t: "prompted", work_seq: item.seq });
    await this.#record({ t: "answered", result });
    await this.#js.publish(`bare.results.${this.#name}`, result, { msgID: `${this.#name}-${this.#turns++}` });
    await this.#record({ t: "published" });
    await item.ackAck();
  }

  async #record(record: object): Promise<void> {
    const expect = { lastSubjectSequence: this.#last };
    this.#last = (await this.#js.publish(`bare.lanes.${this.#name}`, JSON.stringify(record), { expect })).seq;
  }
}
