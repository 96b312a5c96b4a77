import { createServer, connect as dial, type Server, type Socket } from "node:net";

/** Passes connections on to a port, and cuts them on request. */
export class CuttingProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async to(port: number): Promise<CuttingProxy> {
    const server = createServer();
    const proxy = new CuttingProxy(server);
    server.on("connection", (near) => proxy.#pair(near, dial(port, "127.0.0.1")));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as { readonly port: number }).port;
  }

  /** Cuts all connections, on the caller's or on the server's side. */
  cut(side: "near" | "far"): void {
    for (const [near, far] of [...this.#pairs]) (side === "near" ? near : far).resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut("near");
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pair(near: Socket, far: Socket): void {
    const pair = [near, far] as const;
    this.#pairs.add(pair);
    const end = () => {
      this.#pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    for (const socket of pair) socket.on("error", end).on("close", end);
    near.pipe(far).pipe(near);
  }
}
