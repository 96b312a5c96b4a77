import type { Client } from "@connectrpc/connect";
import type { SidecarEvent, SidecarService } from "../../../internal/gen/gastown/v1/sidecar_pb.ts";
import { abortOnExit } from "../../../internal/rpc/client/transport.ts";
import { reasonName } from "./checked-stream.ts";
import { CutReader } from "./cut-reader.ts";
import { type CuttingProxy, cuttingProxy } from "./cutting-proxy.ts";

const ACK_EVERY = 20n;

/** Reads events: a number that comes twice, in another order, or not at all and without a word, is a fault. */
export class SoakEventReader extends CutReader {
  readonly faults: string[] = [];
  readonly gaps: Record<string, number> = {};
  events = 0;
  #last: Pick<SidecarEvent, "seq" | "epoch"> | undefined;
  #acked = 0n;
  /** The position that the sidecar keeps for it is what it continues from; else it says so itself. */
  readonly #name: string;

  private constructor(proxy: CuttingProxy, protocol: "connect" | "grpc", name: string) {
    super(proxy, protocol);
    this.#name = name;
  }

  /** `name`: acknowledges, and comes back under that name; empty: says after which number. */
  static async open(host: string, port: number, protocol: "connect" | "grpc", name: string): Promise<SoakEventReader> {
    return new SoakEventReader(await cuttingProxy(host, port), protocol, name).start();
  }

  /** Of the last event; 0: none yet. */
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
    if (isAgain) return; // not acknowledged yet: it comes once more
    this.#last = { seq, epoch };
    this.events++;
    if (gap !== undefined) {
      const reason = reasonName(gap.reason);
      this.gaps[reason] = (this.gaps[reason] ?? 0) + 1;
    }
    if (last === undefined) return;
    if (epoch !== last.epoch) this.faults.push(`another epoch at ${seq}`);
    const next = last.seq + 1n;
    // What was acknowledged last is what the sidecar knows, and its answer may have been cut off.
    const least = this.#name === "" ? next : this.#acked + 1n;
    const isNamed = gap !== undefined && gap.first >= least && gap.first <= next && gap.to === seq + 1n;
    if (seq !== next && !isNamed) this.faults.push(`event ${seq} after ${last.seq}, gap ${gap?.first} to ${gap?.to}`);
  }
}
