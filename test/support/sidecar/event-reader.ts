import type { Client } from "@connectrpc/connect";
import type { Gap, GapReason } from "../../../internal/gen/gastown/v1/common_pb.ts";
import type { SidecarEvent, SidecarService } from "../../../internal/gen/gastown/v1/sidecar_pb.ts";
import { abortOnExit } from "../../../internal/rpc/client/transport.ts";
import { until } from "./sidecar.ts";

/**
 * A reader of a sidecar's events that resumes after the last received event when its stream breaks, and records faults:
 * a number that comes twice, is missing without a gap or comes after the final event, and a change of epoch.
 */
export class SidecarEventReader implements AsyncDisposable {
  readonly events: SidecarEvent[] = [];
  readonly faults: string[] = [];
  /** The gaps that events report, in order. */
  readonly gaps: Gap[] = [];
  /** The number of times that the stream broke. */
  breaks = 0;
  /** While set, the stream is not read. */
  isPaused = false;
  readonly #client: Client<typeof SidecarService>;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(client: Client<typeof SidecarService>) {
    this.#client = client;
    this.#running = this.#run();
  }

  /** Text of all STDOUT events. */
  get text(): string {
    return this.events.map((event) => event.text).join("");
  }

  async until(what: string, test: (event: SidecarEvent) => boolean, ms = 30_000): Promise<SidecarEvent> {
    const seen = () => this.events.map(({ seq, type, error }) => `${seq}: ${type} ${error}`).join("\n");
    return until(what, ms, () => this.events.find(test), seen);
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.#read();
        return;
      } catch {
        this.breaks++;
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
    }
  }

  async #read(): Promise<void> {
    const last = this.events.at(-1);
    const from = last === undefined ? {} : { afterSeq: last.seq, epoch: last.epoch };
    const open = (signal: AbortSignal) => this.#client.streamEvents(from, { signal });
    for await (const event of abortOnExit(open, this.#stop.signal)) {
      while (this.isPaused) await new Promise((resolve) => setTimeout(resolve, 10));
      this.#take(event);
    }
  }

  #take(event: SidecarEvent): void {
    const last = this.events.at(-1);
    this.events.push(event);
    if (last === undefined) return;
    const next = last.seq + 1n;
    const { gap } = event;
    if (last.done) this.faults.push(`${event.seq} after the last event`);
    if (event.epoch !== last.epoch) this.faults.push(`another epoch at ${event.seq}`);
    if (gap !== undefined) this.gaps.push(gap);
    if (event.seq === next) return;
    const isNamed = gap !== undefined && gap.first === next && gap.to === event.seq + 1n;
    if (!isNamed) this.faults.push(`${event.seq} after ${last.seq}, gap ${gap?.first} to ${gap?.to}`);
  }

  /** Gaps of one reason. */
  countGaps(reason: GapReason): number {
    return this.gaps.filter((gap) => gap.reason === reason).length;
  }

  /** Resolves when the stream has ended by itself. */
  get ended(): Promise<void> {
    return this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isPaused = false;
    this.#stop.abort();
    await this.#running;
  }
}
