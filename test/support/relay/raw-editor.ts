import { WebSocket } from "ws";
import { until } from "../sidecar/sidecar.ts";

type Value = Readonly<Record<string, unknown>>;

/** An editor that sends and sees frames as they are. */
export class RawEditor implements Disposable {
  readonly frames: string[] = [];
  readonly #socket: WebSocket;
  closed: number | undefined;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (data) => this.frames.push(data.toString()));
    socket.on("close", (code) => {
      this.closed = code;
    });
    socket.on("error", () => {});
  }

  /** @param url `ws://HOST:PORT/acp?…` */
  static async open(url: string): Promise<RawEditor> {
    const socket = new WebSocket(url);
    const editor = new RawEditor(socket);
    await until("the connection", 60_000, () => socket.readyState === WebSocket.OPEN || undefined);
    return editor;
  }

  get values(): readonly Value[] {
    return this.frames.map((text) => JSON.parse(text) as Value);
  }

  send(frame: object | string): void {
    this.#socket.send(typeof frame === "string" ? frame : JSON.stringify({ jsonrpc: "2.0", ...frame }));
  }

  /** The response to `id`, once it is there. */
  response(id: number | string | null): Promise<Value> {
    const find = () => this.values.find((value) => value["id"] === id && value["method"] === undefined);
    return until(`the response ${id}`, 120_000, find, () => this.frames.join("\n"));
  }

  async call(id: number, method: string, params: object = {}): Promise<Value> {
    this.send({ id, method, params });
    return this.response(id);
  }

  /** Initializes the connection and opens a session; returns the session's id. */
  async begin(): Promise<string> {
    await this.call(-1, "initialize", { protocolVersion: 1 });
    const { result } = await this.call(-2, "session/new", { cwd: "/", mcpServers: [] });
    return (result as { readonly sessionId: string }).sessionId;
  }

  /** Reads nothing until the returned function is called. */
  pause(): () => void {
    this.#socket.pause();
    return () => this.#socket.resume();
  }

  [Symbol.dispose](): void {
    this.#socket.terminate();
  }
}
