import { type Client, createClient } from "@connectrpc/connect";
import { SidecarService, UpdateKind, WatchMode } from "../../internal/gen/gastown/v1/sidecar_pb.ts";
import { abortOnExit, sidecarTransport } from "../../internal/rpcserver/transport.ts";
import { CheckedStream } from "./checked-stream.ts";
import { type CuttingProxy, cuttingProxy } from "./cutting-proxy.ts";

const RECONNECT_MS = 20;

/** Somebody who watches RAW, is cut off, comes back where it left off, and reads as fast as it is let. */
export class SoakWatcher implements AsyncDisposable {
  readonly stream = new CheckedStream();
  connects = 0;
  /** Updates since it was cut off. */
  #updates = 0;
  readonly #proxy: CuttingProxy;
  readonly #connection: ReturnType<typeof sidecarTransport>;
  readonly #client: Client<typeof SidecarService>;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #pausedUntil = 0;

  private constructor(proxy: CuttingProxy, protocol: "connect" | "grpc") {
    this.#proxy = proxy;
    this.#connection = sidecarTransport({ baseUrl: proxy.url, protocol });
    this.#client = createClient(SidecarService, this.#connection.transport);
  }

  static async start(host: string, port: number, protocol: "connect" | "grpc"): Promise<SoakWatcher> {
    const watcher = new SoakWatcher(await cuttingProxy(host, port), protocol);
    watcher.#running = watcher.#run();
    return watcher;
  }

  /** It has been sent something since it was cut off: on a busy machine that takes its time. */
  get isServed(): boolean {
    return this.#updates > 0;
  }

  cut(): void {
    this.#updates = 0;
    this.#proxy.cut();
  }

  /** The serving half is away: it is served by the next one only. */
  deserted(): void {
    this.#updates = 0;
  }

  /** Reads nothing for that long. */
  pause(ms: number): void {
    this.#pausedUntil = performance.now() + ms;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#watch(signal);
      } catch {
        // It was cut, or the serving half is away: that is what this is about.
      }
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
    }
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { epoch, due } = this.stream;
    const resume = due === undefined ? {} : { epoch, afterOffset: due };
    const request = { mode: WatchMode.RAW, intervalMs: 10, ...resume };
    this.connects++;
    for await (const update of abortOnExit((own) => this.#client.watchOutput(request, { signal: own }), signal)) {
      if (update.kind === UpdateKind.END) return;
      this.stream.take(update);
      this.#updates++;
      while (performance.now() < this.#pausedUntil && !signal.aborted) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#connection[Symbol.dispose]();
    await this.#running;
    await this.#proxy[Symbol.asyncDispose]();
  }
}
