import type { Clock } from "../../base/clock.ts";
import type { Bus } from "./bus.ts";
import { ConsumerGone, type LaneConsumer } from "./lane-consumer.ts";
import type { WorkItem } from "./work-item.ts";

/** The most attempts to read a stream whose server may have just started. */
const MOST_LOOKS = 4;
const BETWEEN_LOOKS_MS = 250;

/** The work of a lane for its holder: work that the consumer delivers, and work that it has passed over. */
export class LaneWork {
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #consumer: LaneConsumer;
  /**
   * The bus's number of reconnects at the last search for passed-over work, which found none or failed; undefined:
   * there may be more.
   */
  #lookedAt: number | undefined;

  constructor(bus: Bus, clock: Clock, consumer: LaneConsumer) {
    this.#bus = bus;
    this.#clock = clock;
    this.#consumer = consumer;
    this.#lookedAt = bus.reconnects;
  }

  /** The next piece of work; undefined: none came within one pull. @throws ConsumerGone, or the signal's reason */
  async next(signal: AbortSignal): Promise<WorkItem | undefined> {
    await this.#bus.connected(signal);
    if (this.#lookedAt === this.#bus.reconnects) {
      const pulled = await this.#consumer.pull(signal);
      if (pulled !== undefined) return pulled;
    }
    return this.#passedOver(signal);
  }

  async #passedOver(signal: AbortSignal): Promise<WorkItem | undefined> {
    for (let looks = 0; looks < MOST_LOOKS; looks++) {
      await this.#bus.connected(signal);
      const { reconnects } = this.#bus;
      try {
        await this.#consumer.forgetLost();
        const item = await this.#consumer.passedOver();
        this.#lookedAt = item === undefined ? reconnects : undefined;
        return item;
      } catch (err) {
        if (err instanceof ConsumerGone) throw err;
        await this.#clock.sleep(BETWEEN_LOOKS_MS, signal);
      }
    }
    this.#lookedAt = this.#bus.reconnects;
    return undefined;
  }
}
