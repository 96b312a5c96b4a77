import { until } from "../sidecar/sidecar.ts";

type Value = Readonly<Record<string, unknown>>;

/** An agent without WebSocket: it reads a stream of events, and posts its frames. */
export class EventAgent implements Disposable {
  readonly frames: Value[] = [];
  readonly id: string;
  closed: Value | undefined;
  isOver = false;
  readonly #url: string;
  readonly #leaving: AbortController;

  private constructor(url: string, response: Response, leaving: AbortController) {
    this.#url = url;
    this.#leaving = leaving;
    this.id = response.headers.get("acp-connection-id") ?? "";
    this.#read(response)
      .catch(() => {})
      .finally(() => {
        this.isOver = true;
      });
  }

  /** @param url `http://HOST:PORT` */
  static async dial(url: string, session: string, headers: Readonly<Record<string, string>> = {}): Promise<EventAgent> {
    const leaving = new AbortController();
    const place = `${url}/acp/${session}/coding?agent_id=agent_sse`;
    const accept = { accept: "text/event-stream", ...headers };
    const response = await fetch(place, { headers: accept, signal: leaving.signal });
    if (response.status !== 200) throw new Error(`the relay answers ${response.status}: ${await response.text()}`);
    return new EventAgent(place, response, leaving);
  }

  /** The status. */
  async post(frame: object | string, id = this.id): Promise<number> {
    const body = typeof frame === "string" ? frame : JSON.stringify({ jsonrpc: "2.0", ...frame });
    const headers = { "acp-connection-id": id, "content-type": "application/json" };
    return (await fetch(this.#url, { method: "POST", body, headers })).status;
  }

  request(number: number): Promise<Value> {
    const find = () => this.frames.filter(({ method }) => method !== undefined)[number - 1];
    return until(`request ${number}`, 60_000, find);
  }

  end(): Promise<Value> {
    return until("the end", 60_000, () => this.closed);
  }

  async #read({ body }: Response): Promise<void> {
    let text = "";
    for await (const chunk of body ?? []) {
      text += Buffer.from(chunk).toString();
      for (let at = text.indexOf("\n\n"); at >= 0; at = text.indexOf("\n\n")) {
        this.#came(text.slice(0, at));
        text = text.slice(at + 2);
      }
    }
  }

  #came(event: string): void {
    const data = event.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
    if (data.length === 0) return;
    const value = JSON.parse(data.join("\n")) as Value;
    if (event.startsWith("event: close")) this.closed = value;
    else this.frames.push(value);
  }

  [Symbol.dispose](): void {
    this.#leaving.abort();
  }
}
