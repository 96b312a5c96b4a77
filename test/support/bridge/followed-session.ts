import { EventType } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import type { Session } from "../../../pkg/bridgeclient/index.ts";
import { until } from "../sidecar/sidecar.ts";

const WAIT_MS = 60_000;

/** Follows a session with the SDK, as a consumer does, and records each event's number. */
export class FollowedSession implements AsyncDisposable {
  readonly #session: Session;
  readonly #stop = new AbortController();
  readonly #reading: Promise<void>;
  readonly #receipts = new Set<string>();
  #next: bigint | undefined;
  /** Numbers that came twice, or that were missing without a gap. */
  readonly unnamed: string[] = [];
  /** The error that ended the events; undefined: they continue. */
  ended: unknown;

  constructor(session: Session) {
    this.#session = session;
    this.#reading = this.#read().catch((err: unknown) => {
      this.ended = err;
    });
  }

  /** Sends a nudge, and waits for its receipt as an event. */
  async nudged(requestId: string): Promise<void> {
    await this.#session.nudge({ message: requestId, requestId }, { timeoutMs: WAIT_MS });
    await until(`the receipt of ${requestId}`, WAIT_MS, () => this.#receipts.has(requestId) || undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#reading;
  }

  async #read(): Promise<void> {
    for await (const { seq, gap, type, requestId } of this.#session.events({ signal: this.#stop.signal })) {
      const first = gap?.first ?? seq;
      if (this.#next !== undefined && first !== this.#next) this.unnamed.push(`${this.#next} before ${first}`);
      this.#next = seq + 1n;
      if (type === EventType.NUDGE_RECEIPT) this.#receipts.add(requestId);
    }
  }
}
