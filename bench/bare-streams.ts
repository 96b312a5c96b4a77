import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import type { TlsMaterial } from "../internal/rpc/common/tls.ts";

export interface BareStreamsOptions {
  readonly url: string;
  readonly tls: TlsMaterial;
  readonly connections: number;
  readonly streams: number;
  /** `/package.Service/Method` */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The request of the n-th stream, encoded. */
  readonly request: (stream: number) => Uint8Array;
}

/** Readers of gRPC streams on bare HTTP/2 that only count messages, so that the server's cost is measured. */
export class BareStreams implements AsyncDisposable {
  /** The messages of all streams so far. */
  messages = 0;
  readonly #sessions: ClientHttp2Session[] = [];

  static async open(options: BareStreamsOptions): Promise<BareStreams> {
    const all = new BareStreams();
    const { url, tls, connections, streams } = options;
    for (let i = 0; i < connections; i++) {
      const session = connect(url, { ...tls, settings: { initialWindowSize: 1 << 20, enablePush: false } });
      session.on("error", () => {});
      session.on("connect", () => session.setLocalWindowSize(8 << 20));
      all.#sessions.push(session);
      if (i % 25 === 24 || i === connections - 1) await once(session, "connect");
    }
    const opened = Array.from({ length: streams }, (_, i) => {
      const session = all.#sessions[i % connections];
      return session === undefined ? Promise.resolve() : all.#open(session, i, options);
    });
    await Promise.all(opened);
    return all;
  }

  async #open(session: ClientHttp2Session, index: number, { path, headers, request }: BareStreamsOptions) {
    const stream = session.request({
      ...{ ":method": "POST", ":path": path, "content-type": "application/grpc+proto", te: "trailers" },
      ...headers,
    });
    stream.end(envelope(request(index)));
    let left = 0;
    let head: Buffer = Buffer.alloc(0);
    stream.on("data", (chunk: Buffer) => {
      let at = 0;
      while (at < chunk.length) {
        if (left > 0) {
          const taken = Math.min(left, chunk.length - at);
          at += taken;
          left -= taken;
          if (left === 0) this.messages++;
          continue;
        }
        const part = chunk.subarray(at, at + 5 - head.length);
        head = Buffer.concat([head, part]);
        at += part.length;
        if (head.length < 5) continue;
        left = head.readUInt32BE(1);
        head = Buffer.alloc(0);
        if (left === 0) this.messages++;
      }
    });
    stream.on("error", () => {});
    const answered = once(stream, "response");
    const early = once(stream, "close").then(() => Promise.reject(new Error("a stream was closed")));
    early.catch(() => {});
    const [answer] = (await Promise.race([answered, early])) as [Record<string, unknown>];
    const { ":status": status, "grpc-status": code, "grpc-message": message } = answer;
    if (status !== 200 || code !== undefined) throw new Error(`answered ${status}, ${code}: ${message}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.#sessions.filter((session) => !session.closed).map((session) => once(session, "close"));
    for (const session of this.#sessions) session.destroy();
    await Promise.all(closed);
  }
}

function envelope(payload: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}
