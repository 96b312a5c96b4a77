import type { ClientHttp2Stream } from "node:http2";
import type { Interceptor } from "@connectrpc/connect";
import type { ClientSessions } from "./client-sessions.ts";

/**
 * The connection to one server that can be replaced, e.g. for a new certificate: new calls go over the new one, the old
 * one closes when its last call has ended.
 */
export class SwitchingSessions {
  readonly #owners = new WeakMap<ClientHttp2Stream, ClientSessions>();
  readonly #retired = new Set<ClientSessions>();
  #current: ClientSessions;

  constructor(first: ClientSessions) {
    this.#current = first;
  }

  get authority(): string {
    return this.#current.authority;
  }

  /** That of the connection a call begins on. */
  interceptor(): Interceptor {
    return (next) => (req) => this.#current.interceptor()(next)(req);
  }

  switchTo(next: ClientSessions): void {
    const old = this.#current;
    this.#current = next;
    this.#retired.add(old);
    old.retire(() => this.#retired.delete(old));
  }

  async request(...args: Parameters<ClientSessions["request"]>): Promise<ClientHttp2Stream> {
    const sessions = this.#current;
    const stream = await sessions.request(...args);
    this.#owners.set(stream, sessions);
    return stream;
  }

  notifyResponseByteRead(stream: ClientHttp2Stream): void {
    this.#owners.get(stream)?.notifyResponseByteRead(stream);
  }

  abort(): void {
    for (const sessions of [this.#current, ...this.#retired]) sessions.abort();
  }
}
