import { once } from "node:events";
import { connect, type TLSSocket } from "node:tls";
import { type CallKind, type CallTarget, REQUESTS } from "./four-calls.ts";

/** A request whose headers are sent without their end until `finish`, so the server gets it late. */
export class HalfSent {
  readonly #socket: TLSSocket;
  readonly #rest: Buffer;
  #text = "";

  private constructor(socket: TLSSocket, rest: Buffer) {
    this.#socket = socket;
    this.#rest = rest;
    socket.on("data", (chunk: Buffer) => {
      this.#text += chunk.toString("latin1");
    });
    socket.on("error", () => {});
  }

  static async begin(kind: CallKind, { port, ca, client, token }: CallTarget): Promise<HalfSent> {
    const { method, path, type, body } = REQUESTS[kind];
    const socket = connect({ host: "127.0.0.1", ...(port && { port }), ...(ca && { ca }), ...client });
    await once(socket, "secureConnect");
    const isSocket = kind === "socket";
    const lines = [
      `${method} ${path} HTTP/1.1`,
      `host: 127.0.0.1:${port}`,
      `authorization: Bearer ${token}`,
      ...(type === "" ? [] : [`content-type: ${type}`, "connect-protocol-version: 1"]),
      ...(body === undefined ? [] : [`content-length: ${body.length}`]),
      ...(isSocket ? ["connection: Upgrade", "upgrade: websocket", "sec-websocket-version: 13"] : []),
      ...(isSocket ? [`sec-websocket-key: ${Buffer.alloc(16).toString("base64")}`] : []),
    ];
    socket.write(`${lines.join("\r\n")}\r\n`);
    return new HalfSent(socket, Buffer.concat([Buffer.from("\r\n"), body ?? Buffer.alloc(0)]));
  }

  /** Sends the rest of the request. Returns everything received until the connection closes. */
  async finish(): Promise<string> {
    const closed = once(this.#socket, "close");
    this.#socket.end(this.#rest);
    await closed;
    return this.#text;
  }
}
