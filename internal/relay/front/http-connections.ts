import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";

interface HttpConnection {
  /** The identity of the caller that opened it; undefined: tokens are not required. */
  readonly owner: string | undefined;
  /**
   * The open requests, including event streams. Keeps them from garbage collection, after which their signals would
   * never abort.
   */
  readonly open: Set<Request>;
  /** Monotonic ms when a request last began or ended. */
  lastMs: number;
}

/** A connection without an open request ends after this long. */
const IDLE_MS = 60_000;
const LOOK_MS = 5000;

/** Tracks editors' connections over Streamable HTTP: their owners, and whether they are in use. */
export class HttpConnections {
  readonly #clock: Clock;
  readonly #handle: (request: Request) => Promise<Response>;
  readonly #connections = new Map<string, HttpConnection>();

  constructor(clock: Clock, handle: (request: Request) => Promise<Response>) {
    this.#clock = clock;
    this.#handle = handle;
  }

  opened(id: string, owner: string | undefined): void {
    this.#connections.set(id, { owner, open: new Set(), lastMs: this.#clock.monotonicMs() });
  }

  /** Handles a request of a connection. @throws DomainError `denied` if another caller has opened the connection */
  async answer(request: Request, id: string, owner: string | undefined): Promise<Response> {
    const connection = this.#connections.get(id);
    if (connection === undefined) return await this.#handle(request);
    if (connection.owner !== owner) throw new DomainError("denied", "the connection belongs to another caller");
    connection.open.add(request);
    connection.lastMs = this.#clock.monotonicMs();
    request.signal.addEventListener("abort", () => this.#ended(connection, request), { once: true });
    const response = await this.#handle(request);
    if (response.status === 404 || request.method === "DELETE") this.#connections.delete(id);
    return begun(response);
  }

  /** Ends unused connections, until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(LOOK_MS, signal).catch(() => {});
      const before = this.#clock.monotonicMs() - IDLE_MS;
      for (const [id, { open, lastMs }] of this.#connections) {
        if (open.size > 0 || lastMs > before) continue;
        this.#connections.delete(id);
        await this.#handle(new Request("http://relay/acp", { method: "DELETE", headers: { "acp-connection-id": id } }));
      }
    }
  }

  #ended(connection: HttpConnection, request: Request): void {
    connection.open.delete(request);
    connection.lastMs = this.#clock.monotonicMs();
  }
}

/** Starts a stream of events with a comment, which sends the response's head before the first event. */
function begun(response: Response): Response {
  const { body, headers, status } = response;
  if (body === null || headers.get("content-type") !== "text/event-stream") return response;
  const parts = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from(": open\n\n");
    yield* body;
  };
  return new Response(ReadableStream.from(parts()), { status, headers });
}
