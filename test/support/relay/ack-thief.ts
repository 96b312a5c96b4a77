import { createServer, type Server, type Socket, connect as tcpConnect } from "node:net";

/** A proxy to nats-server that drops some acknowledgements of a stream. */
export class AckThief implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** The number of dropped acknowledgements, by stream. */
  readonly stolen = new Map<string, number>();
  readonly #acks = new Map<string, number>();

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param everyNth n: every n-th acknowledgement of each stream is dropped */
  static async listen(natsUrl: string, everyNth: number): Promise<AckThief> {
    const { hostname, port } = new URL(natsUrl);
    const server = createServer();
    const thief = new AckThief(server);
    server.on("connection", (client) => thief.#carry(client, tcpConnect(Number(port), hostname), everyNth));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return thief;
  }

  get url(): string {
    const address = this.#server.address();
    return `nats://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  }

  #carry(client: Socket, nats: Socket, everyNth: number): void {
    for (const [one, other] of [
      [client, nats],
      [nats, client],
    ] as const) {
      this.#sockets.add(one);
      one.on("error", () => {}).on("close", () => other.destroy());
    }
    client.on("data", (chunk) => nats.write(chunk));
    let rest = Buffer.alloc(0);
    nats.on("data", (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      for (let frame = firstFrame(rest); frame !== undefined; frame = firstFrame(rest)) {
        rest = rest.subarray(frame.length);
        if (!this.#steals(frame, everyNth)) client.write(frame);
      }
    });
  }

  #steals(frame: Buffer, everyNth: number): boolean {
    const [, stream] = /\r\n\{"stream":\s*"([^"]+)",.*"seq":\s*\d+/.exec(frame.toString("latin1")) ?? [];
    if (stream === undefined) return false;
    const count = (this.#acks.get(stream) ?? 0) + 1;
    this.#acks.set(stream, count);
    if (count % everyNth !== 0) return false;
    this.stolen.set(stream, (this.stolen.get(stream) ?? 0) + 1);
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

/** The first complete message of the server's data; undefined: it is incomplete. */
function firstFrame(bytes: Buffer): Buffer | undefined {
  const end = bytes.indexOf("\r\n");
  if (end < 0) return undefined;
  const line = bytes.toString("latin1", 0, end);
  if (!/^H?MSG /.test(line)) return bytes.subarray(0, end + 2);
  const length = end + 2 + Number(line.split(" ").at(-1)) + 2;
  return bytes.length < length ? undefined : bytes.subarray(0, length);
}
