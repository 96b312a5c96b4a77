import { EventType, type SessionEvent } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import { until } from "../sidecar/sidecar.ts";

const WAIT_MS = 60_000;

import type { RunningReplica } from "./controller-cluster.ts";

/** Reads a session's events as a consumer does, and records each number. */
export class ClusterEventReader {
  readonly #receipts = new Set<string>();
  #position: { readonly afterSeq?: bigint; readonly epoch: string } = { epoch: "" };
  #next: bigint | undefined;
  /** Numbers that were missing without a gap. */
  readonly unnamed: string[] = [];
  #reading: Promise<void>;

  constructor(client: RunningReplica["client"]) {
    this.#reading = this.#read(client);
  }

  /** Resumes at another replica from the last event, after the stream broke with its replica. */
  async goOn(client: RunningReplica["client"]): Promise<void> {
    await this.#reading;
    this.#reading = this.#read(client);
  }

  /** Sends a nudge, and waits for its receipt in the stream. */
  async nudged(client: RunningReplica["client"], requestId: string): Promise<void> {
    const nudge = () => client.nudge({ sessionId: "two", request: { message: requestId, requestId } });
    await until(`an answer to ${requestId}`, WAIT_MS, () => nudge().catch(() => undefined));
    await until(`the receipt of ${requestId}`, WAIT_MS, () => this.#receipts.has(requestId) || undefined);
  }

  async #read(client: RunningReplica["client"]): Promise<void> {
    try {
      for await (const event of client.streamEvents({ sessionId: "two", ...this.#position })) this.#take(event);
    } catch {
      // its replica has gone
    }
  }

  #take({ seq, epoch, gap, type, requestId }: SessionEvent): void {
    const first = gap?.first ?? seq;
    if (this.#next !== undefined && first !== this.#next) this.unnamed.push(`${this.#next} before ${first}`);
    this.#next = seq + 1n;
    this.#position = { afterSeq: seq, epoch };
    if (type === EventType.NUDGE_RECEIPT) this.#receipts.add(requestId);
  }
}
