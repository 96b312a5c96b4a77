import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A network between a client and a server that the test can cut. */
export class TcpRelay implements AsyncDisposable {
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((near) => this.#connect(near));
  /** The number of connections so far. */
  connections = 0;
  /** The local port that new connections lead to. */
  target: number;

  private constructor(target: number) {
    this.target = target;
  }

  /** Listens on `host`, any loopback address. */
  static async to(port: number, host = "127.0.0.1"): Promise<TcpRelay> {
    const relay = new TcpRelay(port);
    relay.#server.listen(0, host);
    await once(relay.#server, "listening");
    return relay;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Resets all connections immediately. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #connect(near: Socket): void {
    this.connections++;
    const far = connect(this.target, "127.0.0.1");
    const ends = [near, far] as const;
    for (const [one, other] of [ends, [far, near] as const]) {
      this.#sockets.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
    near.pipe(far).pipe(near);
  }
}
