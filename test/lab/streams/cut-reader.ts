import { type Client, createClient } from "@connectrpc/connect";
import { SidecarService } from "../../../internal/gen/gastown/v1/sidecar_pb.ts";
import { sidecarTransport } from "../../../internal/rpc/client/transport.ts";
import type { CuttingProxy } from "./cutting-proxy.ts";

const RECONNECT_MS = 20;

/** A reader of a stream that is cut off, resumes where it left off, and reads as fast as it is allowed to. */
export abstract class CutReader implements AsyncDisposable {
  connects = 0;
  /** The messages since it was cut off. */
  #messages = 0;
  readonly #proxy: CuttingProxy;
  readonly #connection: ReturnType<typeof sidecarTransport>;
  readonly #client: Client<typeof SidecarService>;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #pausedUntil = 0;

  protected constructor(proxy: CuttingProxy, protocol: "connect" | "grpc") {
    this.#proxy = proxy;
    this.#connection = sidecarTransport({ baseUrl: proxy.url, protocol });
    this.#client = createClient(SidecarService, this.#connection.transport);
  }

  /** Reads one stream to its end; calls `taken` after each message. */
  protected abstract read(client: Client<typeof SidecarService>, signal: AbortSignal): Promise<void>;

  protected start(): this {
    this.#running = this.#run();
    return this;
  }

  /** Counts a message, and waits while the reader has to stall. */
  protected async taken(): Promise<void> {
    this.#messages++;
    while (performance.now() < this.#pausedUntil && !this.#stop.signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** True if it has received a message since it was last cut off; on a busy machine that takes long. */
  get isServed(): boolean {
    return this.#messages > 0;
  }

  cut(): void {
    this.#messages = 0;
    this.#proxy.cut();
  }

  /** Call this when the serving half is down: only the next serving half can serve this reader. */
  deserted(): void {
    this.#messages = 0;
  }

  /** Stops reading for `ms`. */
  pause(ms: number): void {
    this.#pausedUntil = performance.now() + ms;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      this.connects++;
      try {
        await this.read(this.#client, signal);
      } catch {
        // The connection was cut, or the serving half is down, as intended.
      }
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#connection[Symbol.dispose]();
    await this.#running;
    await this.#proxy[Symbol.asyncDispose]();
  }
}
