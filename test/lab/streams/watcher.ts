import type { Client } from "@connectrpc/connect";
import { type SidecarService, UpdateKind, WatchMode } from "../../../internal/gen/gastown/v1/sidecar_pb.ts";
import { abortOnExit } from "../../../internal/rpc/client/transport.ts";
import { CheckedStream } from "./checked-stream.ts";
import { CutReader } from "./cut-reader.ts";
import { cuttingProxy } from "./cutting-proxy.ts";

/** Watches RAW, and compares its stream with the printed output. */
export class SoakWatcher extends CutReader {
  readonly stream = new CheckedStream();

  static async open(host: string, port: number, protocol: "connect" | "grpc"): Promise<SoakWatcher> {
    return new SoakWatcher(await cuttingProxy(host, port), protocol).start();
  }

  protected override async read(client: Client<typeof SidecarService>, signal: AbortSignal): Promise<void> {
    const { epoch, due } = this.stream;
    const resume = due === undefined ? {} : { epoch, afterOffset: due };
    const request = { mode: WatchMode.RAW, intervalMs: 10, ...resume };
    for await (const update of abortOnExit((own) => client.watchOutput(request, { signal: own }), signal)) {
      if (update.kind === UpdateKind.END) return;
      this.stream.take(update);
      await this.taken();
    }
  }
}
