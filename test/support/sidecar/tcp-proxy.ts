import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Passes bytes on to a port of 127.0.0.1, counts connections, and can break them. */
export class TcpProxy implements AsyncDisposable {
  readonly #server = createServer((socket) => this.#join(socket));
  readonly #target: number;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  /** The connections since the start. */
  accepted = 0;

  constructor(target: number) {
    this.#target = target;
  }

  static async to(target: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    await once(proxy.#server.listen(0, "127.0.0.1"), "listening");
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Resets all connections; new ones work. */
  cut(): void {
    for (const pair of this.#pairs) for (const socket of pair) socket.resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(near: Socket): void {
    this.accepted++;
    const far = connect(this.#target, "127.0.0.1");
    const pair = [near, far] as const;
    this.#pairs.add(pair);
    const end = () => {
      this.#pairs.delete(pair);
      for (const socket of pair) socket.destroy();
    };
    for (const socket of pair) socket.on("error", end).on("close", end);
    near.pipe(far);
    far.pipe(near);
  }
}
