import { Agent, type Dispatcher, ProxyAgent } from "undici";
import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import type { ClusterAccess, KubeCredentials } from "./access/credentials.ts";

/** The connections that a call may use. Watches have their own connections, so a list never waits behind a stream. */
export type Lane = "calls" | "urgent" | "creates" | "watches";

/**
 * Credentials are read again at this interval, as in client-go. Bound tokens are valid for an hour and are rotated at
 * 80 % of it.
 */
const REREAD_MS = 60_000;
const CONNECT_TIMEOUT_MS = 10_000;
/**
 * The API server closes idle connections after 90 s; closing first avoids a request on a connection that is being
 * closed.
 */
const IDLE_CLOSE_MS = 60_000;
const CALL_CONNECTIONS = 3;
/**
 * The number of pods that are created concurrently: a webhook that hangs blocks a connection until the call's deadline.
 */
const CREATE_CONNECTIONS = 8;

export interface ConnectionsDeps {
  readonly credentials: KubeCredentials;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Connections to one API server, shared by all callers; they are replaced if the server, proxy or TLS data change. */
export class KubeConnections {
  readonly #deps: ConnectionsDeps;
  #access: ClusterAccess | undefined;
  #readAt = 0;
  #reading: Promise<void> | undefined;
  #agents: ReadonlyMap<Lane, Dispatcher> | undefined;
  #closed = false;

  constructor(deps: ConnectionsDeps) {
    this.#deps = deps;
  }

  /**
   * The dispatcher and credentials for a call.
   * @throws DomainError `precondition` if there are no credentials; `cancelled` after `destroy`
   */
  async over(lane: Lane): Promise<{ readonly dispatcher: Dispatcher; readonly access: ClusterAccess }> {
    const age = this.#deps.clock.monotonicMs() - this.#readAt;
    if (this.#access === undefined || age >= REREAD_MS) await this.reread();
    const dispatcher = this.#agents?.get(lane);
    if (this.#access === undefined || dispatcher === undefined) {
      throw new DomainError("cancelled", "the connections to the Kubernetes API are closed");
    }
    return { dispatcher, access: this.#access };
  }

  /** Reads the credentials now. If they cannot be read, the current ones stay in use; it throws if there are none. */
  reread(): Promise<void> {
    this.#reading ??= this.#reread().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #reread(): Promise<void> {
    if (this.#closed) return;
    try {
      const next = await this.#deps.credentials.access();
      this.#readAt = this.#deps.clock.monotonicMs();
      const before = this.#access;
      this.#access = next;
      if (before === undefined || !isSameWay(before, next)) await this.#connectWith(next);
    } catch (err) {
      if (this.#access === undefined) throw err;
      this.#deps.logger.warn({ err }, "cannot read the cluster's credentials: the current ones stay in use");
      this.#readAt = this.#deps.clock.monotonicMs();
    }
  }

  /** Calls in progress finish on their old connections; watches are cut and resume on new ones. */
  async #connectWith(access: ClusterAccess): Promise<void> {
    const before = this.#agents;
    this.#agents = this.#closed
      ? undefined
      : new Map([
          ["calls", agent(access, CALL_CONNECTIONS)],
          ["urgent", agent(access, 1)],
          ["creates", agent(access, CREATE_CONNECTIONS)],
          ["watches", agent(access, null)],
        ]);
    for (const lane of ["calls", "urgent", "creates"] as const) {
      before
        ?.get(lane)
        ?.close()
        .catch(() => {});
    }
    await before?.get("watches")?.destroy();
  }

  /** Closes all connections; calls in progress fail. */
  async destroy(): Promise<void> {
    this.#closed = true;
    const agents = [...(this.#agents?.values() ?? [])];
    this.#agents = undefined;
    await Promise.all(agents.map((each) => each.destroy()));
  }
}

function agent({ tls, proxy }: ClusterAccess, connections: number | null): Dispatcher {
  const connect = { ...tls, timeout: CONNECT_TIMEOUT_MS, keepAlive: true, keepAliveInitialDelay: 30_000 };
  const options = {
    allowH2: false,
    connections,
    pipelining: 1,
    keepAliveTimeout: IDLE_CLOSE_MS,
    keepAliveMaxTimeout: IDLE_CLOSE_MS,
    // The caller sets deadlines; a watch may be silent for a minute.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  if (proxy === undefined) return new Agent({ ...options, connect });
  return new ProxyAgent({ ...options, uri: proxy.url, requestTls: connect });
}

function isSameWay(a: ClusterAccess, b: ClusterAccess): boolean {
  const isSamePlace = a.server === b.server && a.proxy?.url === b.proxy?.url;
  return isSamePlace && JSON.stringify(a.tls) === JSON.stringify(b.tls);
}
