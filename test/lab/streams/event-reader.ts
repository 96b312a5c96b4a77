import type { Client } from "@connectrpc/connect";
import type { SidecarEvent, SidecarService } from "../../../internal/gen/gastown/v1/sidecar_pb.ts";
import { abortOnExit } from "../../../internal/rpc/client/transport.ts";
import { reasonName } from "./checked-stream.ts";
import { CutReader } from "./cut-reader.ts";
import { type CuttingProxy, cuttingProxy } from "./cutting-proxy.ts";

const ACK_EVERY = 20n;

/** Reads events. A number that comes twice or out of order, or that is missing without a gap, is a fault. */
export class SoakEventReader extends CutReader {
  readonly faults: string[] = [];
  readonly gaps: Record<string, number> = {};
  events = 0;
  #last: Pick<SidecarEvent, "seq" | "epoch"> | undefined;
  #acked = 0n;
  /**
   * With a name, the reader resumes from the position that the sidecar stores for that name; without one, it sends the
   * position itself.
   */
  readonly #name: string;

  private constructor(proxy: CuttingProxy, protocol: "connect" | "grpc", name: string) {
    super(proxy, protocol);
    this.#name = name;
  }

  /**
   * `name`: the reader acknowledges events and resumes under that name; empty: it sends its position when it resumes.
   */
  static async open(host: string, port: number, protocol: "connect" | "grpc", name: string): Promise<SoakEventReader> {
    return new SoakEventReader(await cuttingProxy(host, port), protocol, name).start();
  }

  /** The number of the last event; 0: none yet. */
  get seq(): bigint {
    return this.#last?.seq ?? 0n;
  }

  protected override async read(client: Client<typeof SidecarService>, signal: AbortSignal): Promise<void> {
    const last = this.#last;
    const from =
      this.#name !== ""
        ? { subscriberId: this.#name }
        : last === undefined
          ? {}
          : { afterSeq: last.seq, epoch: last.epoch };
    for await (const event of abortOnExit((own) => client.streamEvents(from, { signal: own }), signal)) {
      this.#take(event);
      await this.taken();
      if (this.#name === "" || event.seq < this.#acked + ACK_EVERY) continue;
      await client.ackEvents({ subscriberId: this.#name, ackSeq: event.seq, epoch: event.epoch }, { signal });
      this.#acked = event.seq;
    }
  }

  #take(event: SidecarEvent): void {
    const { seq, epoch, gap } = event;
    const last = this.#last;
    const isAgain = this.#name !== "" && last !== undefined && seq <= last.seq && seq > this.#acked;
    if (isAgain) return; // not acknowledged yet, so it is sent again
    this.#last = { seq, epoch };
    this.events++;
    if (gap !== undefined) {
      const reason = reasonName(gap.reason);
      this.gaps[reason] = (this.gaps[reason] ?? 0) + 1;
    }
    if (last === undefined) return;
    if (epoch !== last.epoch) this.faults.push(`another epoch at ${seq}`);
    const next = last.seq + 1n;
    // The sidecar knows the last acknowledgement, but its answer to us may have been cut off.
    const least = this.#name === "" ? next : this.#acked + 1n;
    const isNamed = gap !== undefined && gap.first >= least && gap.first <= next && gap.to === seq + 1n;
    if (seq !== next && !isNamed) this.faults.push(`event ${seq} after ${last.seq}, gap ${gap?.first} to ${gap?.to}`);
  }
}
