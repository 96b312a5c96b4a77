import type { Client } from "@connectrpc/connect";
import { type BridgeService, EventType, type SessionEvent } from "../../../internal/gen/bridge/v1/bridge_pb.ts";
import { until } from "../sidecar/sidecar.ts";

/**
 * A reader of one session's events at one replica, which resumes after the last event when its stream breaks, and
 * records each number that comes twice or is missing without a gap.
 */
export class SessionReader implements AsyncDisposable {
  readonly faults: string[] = [];
  /** The reasons why its streams broke, in order. */
  readonly breaks: string[] = [];
  readonly #receipts = new Set<string>();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #last: { readonly afterSeq: bigint; readonly epoch: string } | undefined;

  constructor(client: Client<typeof BridgeService>, sessionId: string) {
    this.#running = this.#run(client, sessionId);
  }

  /** Waits for the receipt of this nudge. */
  async receipt(requestId: string, ms: number, context: () => string): Promise<void> {
    const seen = () => `${this.breaks.join("\n")}\n${context()}`;
    await until(`the receipt of ${requestId}`, ms, () => this.#receipts.has(requestId) || undefined, seen);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(client: Client<typeof BridgeService>, sessionId: string): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        for await (const event of client.streamEvents({ sessionId, ...this.#last }, { signal })) this.#take(event);
        return;
      } catch (err) {
        if (signal.aborted) return;
        this.breaks.push(String(err));
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  #take({ seq, epoch, gap, type, requestId }: SessionEvent): void {
    const next = (this.#last?.afterSeq ?? 0n) + 1n;
    const first = gap?.first ?? seq;
    if (this.#last !== undefined && first !== next) this.faults.push(`${first} instead of ${next}`);
    this.#last = { afterSeq: seq, epoch };
    if (type === EventType.NUDGE_RECEIPT) this.#receipts.add(requestId);
  }
}
