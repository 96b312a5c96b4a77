import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** `freeze`: the connection passes nothing on, and stays open; the others end it for client and server. */
export type Fault = "freeze" | "reset" | "end";

/** The fault of a connection, and the number of bytes in this direction after which it occurs. */
export interface FaultPlan {
  readonly fault: Fault;
  readonly direction: "to-server" | "to-client";
  readonly bytes: number;
}

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
  isFrozen: boolean;
}

/** A network between clients and a server whose connections fail, each by a plan or all at once. */
export class FaultyRelay implements AsyncDisposable {
  readonly #server = createServer((near) => this.#pass(near));
  readonly #pairs = new Set<Pair>();
  readonly #target: number;
  /** The plan for new connections; undefined: they are passed on. */
  plan: FaultPlan | undefined;
  /** The number of connections so far. */
  connections = 0;

  private constructor(target: number) {
    this.#target = target;
  }

  static async to(port: number): Promise<FaultyRelay> {
    const relay = new FaultyRelay(port);
    relay.#server.listen(0, "127.0.0.1");
    await once(relay.#server, "listening");
    return relay;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The number of open connections to clients. */
  get open(): number {
    return [...this.#pairs].filter(({ near }) => !near.destroyed).length;
  }

  /** Injects the fault into all open connections. */
  all(fault: Fault): void {
    for (const pair of this.#pairs) this.#act(pair, fault);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { near, far } of this.#pairs) {
      near.destroy();
      far.destroy();
    }
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pass(near: Socket): void {
    this.connections++;
    const { plan } = this;
    const far = connect(this.#target, "127.0.0.1");
    const pair: Pair = { near, far, isFrozen: false };
    this.#pairs.add(pair);
    for (const [one, other, direction] of [
      [near, far, "to-server"],
      [far, near, "to-client"],
    ] as const) {
      let left = plan?.direction === direction ? plan.bytes : Number.POSITIVE_INFINITY;
      one.on("error", () => {});
      one.on("data", (chunk) => {
        if (pair.isFrozen) return;
        other.write(chunk.subarray(0, left));
        left -= chunk.length;
        if (left <= 0 && plan) this.#act(pair, plan.fault);
      });
      one.on("end", () => pair.isFrozen || other.end());
      one.on("close", () => {
        this.#pairs.delete(pair);
        if (!pair.isFrozen) other.destroy();
      });
      if (left === 0 && plan) this.#act(pair, plan.fault);
    }
  }

  #act(pair: Pair, fault: Fault): void {
    pair.isFrozen = true;
    if (fault === "reset") pair.near.resetAndDestroy();
    if (fault === "end") pair.near.end();
    if (fault !== "freeze") pair.far.destroy();
  }
}
