import type { ClientHttp2Stream } from "node:http2";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import type { ClientSessions } from "./client-sessions.ts";
import type { ResponseBudget } from "./response-budget.ts";

/**
 * Connections to one server that can be replaced, e.g. for a new certificate: new calls use the new connection, and the
 * old one closes after its last call.
 */
export class SwitchingSessions {
  readonly #owners = new WeakMap<ClientHttp2Stream, ClientSessions>();
  readonly #retired = new Set<ClientSessions>();
  readonly #responses: ResponseBudget | undefined;
  #current: ClientSessions;

  /** `responses`: bounds the memory of responses while they arrive. */
  constructor(first: ClientSessions, responses?: ResponseBudget) {
    this.#current = first;
    this.#responses = responses;
  }

  get authority(): string {
    return this.#current.authority;
  }

  switchTo(next: ClientSessions): void {
    const old = this.#current;
    this.#current = next;
    this.#retired.add(old);
    old.retire(() => this.#retired.delete(old));
  }

  /**
   * The interceptor of the connection on which a call begins. If the server is closing that connection and refuses the
   * call without processing it, the call is made once more, on the connection that is then current. A streaming call
   * cannot be repeated and fails with `unavailable`.
   */
  interceptor(): Interceptor {
    return (next) => async (req) => {
      const call = () => this.#current.interceptor()(next)(req);
      const explained = (err: unknown) => (wasRefusedUnseen(err) ? closing(err) : err);
      try {
        return await call();
      } catch (err) {
        if (req.stream || !wasRefusedUnseen(err)) throw explained(err);
      }
      return call().catch((err: unknown) => {
        throw explained(err);
      });
    };
  }

  async request(...args: Parameters<ClientSessions["request"]>): Promise<ClientHttp2Stream> {
    const sessions = this.#current;
    const stream = await sessions.request(...args);
    this.#owners.set(stream, sessions);
    const [, , headers] = args;
    this.#responses?.count(stream, /^application\/connect\+/.test(String(headers["content-type"])));
    return stream;
  }

  notifyResponseByteRead(stream: ClientHttp2Stream): void {
    this.#owners.get(stream)?.notifyResponseByteRead(stream);
  }

  abort(): void {
    for (const sessions of [this.#current, ...this.#retired]) sessions.abort();
  }
}

function closing(cause: unknown): ConnectError {
  return new ConnectError("the server is closing this connection", Code.Unavailable, undefined, undefined, cause);
}

/** REFUSED_STREAM: the request was not processed (RFC 9113 §8.7). */
function wasRefusedUnseen(err: unknown): boolean {
  return (
    err instanceof ConnectError && err.cause instanceof Error && err.cause.message.includes("NGHTTP2_REFUSED_STREAM")
  );
}
