import { resultBody } from "../acp/result-parts.ts";
import { publishStored } from "../nats/publish.ts";
import { readStream } from "../nats/stream-reader.ts";
import { type LaneName, messageId, subjects } from "../nats/subjects.ts";
import type { LaneDeps } from "./lane-deps.ts";
import type { Answered } from "./lane-records.ts";

/**
 * Trusts message ids to suppress duplicates for this long after publishing began; the server keeps them much longer.
 * After that, reads the stream before each part.
 */
const TRUSTED_MS = 60_000;

/** Publishes the parts of answers in order, each stored exactly once. */
export class AnswerPublisher {
  readonly #deps: LaneDeps;
  readonly #lane: LaneName;
  /** The last sequence in the stream of results that this holder knows. */
  #last: number;

  constructor(deps: LaneDeps, lane: LaneName, last: number) {
    this.#deps = deps;
    this.#lane = lane;
    this.#last = last;
  }

  /** The results of work that is answered from now on have higher sequences than this. */
  get last(): number {
    return this.#last;
  }

  /**
   * Resolves when the stream has stored every part.
   * @param looksFirst another holder may have published some parts: read the stream first
   */
  async publish(answered: Answered, looksFirst: boolean, signal: AbortSignal): Promise<void> {
    const { clock, reached, bus } = this.#deps;
    const { traceparent } = answered;
    const since = clock.monotonicMs();
    let stored = looksFirst ? await this.#stored(answered, signal) : new Set<string>();
    for (const [index, part] of answered.parts.entries()) {
      if (clock.monotonicMs() - since > TRUSTED_MS) stored = await this.#stored(answered, signal);
      const place = { id: answered.id, sessionId: this.#lane.sessionId, part: index + 1, parts: answered.parts.length };
      const msgId = messageId(this.#lane, answered.id, index + 1);
      if (stored.has(msgId)) continue;
      const headers = {
        "Relay-Part": `${place.part}/${place.parts}`,
        ...(answered.agent_id !== "" && { "Relay-Agent": answered.agent_id }),
        "Relay-Dialect": answered.dialect,
        "Relay-Attempt": String(answered.attempt),
        ...(traceparent !== undefined && { traceparent }),
      };
      const message = { subject: subjects.results(this.#lane), body: resultBody(part, place), msgId, headers };
      const ack = await publishStored(this.#deps, message, signal);
      if (ack.stream === bus.streams.results) this.#last = Math.max(this.#last, ack.seq);
      reached("published");
    }
  }

  /** The message ids of the parts that the stream has stored. */
  async #stored({ results_after }: Answered, signal: AbortSignal): Promise<Set<string>> {
    const { bus, clock } = this.#deps;
    const options = { stream: bus.streams.results, subject: subjects.results(this.#lane), from: results_after + 1 };
    for (;;) {
      await bus.connected(signal);
      try {
        const messages = await readStream(bus, options);
        return new Set(messages.map(({ headers }) => headers?.get("Nats-Msg-Id") ?? ""));
      } catch (err) {
        if (signal.aborted) throw err;
      }
      await clock.sleep(250, signal);
    }
  }
}
