import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { SidecarWatchRequestSchema, WatchMode } from "../internal/gen/gastown/v1/sidecar_pb.ts";
import type { TlsMaterial } from "../internal/rpc/common/tls.ts";
import { type Mark, MarkScanner } from "./marks.ts";

export type Protocol = "connect" | "grpc" | "grpc-web";

export interface RawWatchersOptions {
  readonly url: string;
  readonly tls?: TlsMaterial | undefined;
  readonly protocol: Protocol;
  readonly connections: number;
  readonly streams: number;
  /** The server makes updates for each watcher separately. */
  readonly naive: boolean;
}

const PATH = "/gastown.v1.SidecarService/WatchOutput";
const CONTENT_TYPES = {
  connect: "application/connect+proto",
  grpc: "application/grpc+proto",
  "grpc-web": "application/grpc-web+proto",
} as const;

/** Watchers on bare HTTP/2 that only look for marks, so that the server's cost is measured. */
export class RawWatchers implements AsyncDisposable {
  readonly marks: Mark[] = [];
  readonly #sessions: ClientHttp2Session[] = [];
  #answered = 0;

  static async open(options: RawWatchersOptions): Promise<RawWatchers> {
    const watchers = new RawWatchers();
    const { url, tls, connections, streams } = options;
    const secure = tls === undefined ? {} : { cert: tls.cert, key: tls.key, ca: tls.ca };
    for (let i = 0; i < connections; i++) {
      const session = connect(url, { ...secure, settings: { initialWindowSize: 1 << 20, enablePush: false } });
      session.on("error", () => {});
      watchers.#sessions.push(session);
      if (i % 25 === 24) await once(session, "connect");
    }
    const opened = Array.from({ length: streams }, (_, i) => {
      const session = watchers.#sessions[i % connections];
      return session === undefined ? Promise.resolve() : watchers.#open(session, options);
    });
    await Promise.all(opened);
    return watchers;
  }

  /** The number of streams that have received data. */
  get answered(): number {
    return this.#answered;
  }

  async #open(session: ClientHttp2Session, { protocol, naive }: RawWatchersOptions): Promise<void> {
    const request = session.request({
      ":method": "POST",
      ":path": PATH,
      "content-type": CONTENT_TYPES[protocol],
      "connect-protocol-version": "1",
      te: "trailers",
    });
    const message = { mode: WatchMode.RAW, intervalMs: 10, lines: naive ? 1 : 0 };
    const payload = toBinary(SidecarWatchRequestSchema, create(SidecarWatchRequestSchema, message));
    const envelope = Buffer.alloc(5);
    envelope.writeUInt32BE(payload.length, 1);
    request.end(Buffer.concat([envelope, payload]));
    const scanner = new MarkScanner((mark) => this.marks.push(mark));
    request.on("error", () => {});
    const first = Promise.withResolvers<void>();
    request.once("data", () => {
      this.#answered++;
      first.resolve();
    });
    request.once("close", () => first.reject(new Error(`a ${protocol} stream was closed`)));
    request.on("data", (chunk: Buffer) => scanner.push(chunk));
    await first.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.#sessions.filter((session) => !session.closed).map((session) => once(session, "close"));
    for (const session of this.#sessions) session.destroy();
    await Promise.all(closed);
  }
}
