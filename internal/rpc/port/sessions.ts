import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { raceSignal, withTimeout } from "../../base/abort.ts";
import { type Clock, readingClock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";

export interface SessionLimits {
  /** A new connection must have sent its SETTINGS within this, ms. */
  readonly handshakeTimeoutMs: number;
  readonly pingIntervalMs: number;
  readonly pingTimeoutMs: number;
  /** A request must be complete within this, ms; checked once per PING. */
  readonly requestTimeoutMs: number;
  /**
   * A connection gets GOAWAY at about this age, ms: its streams continue, new calls use another connection. Default:
   * never.
   */
  readonly maxConnectionAgeMs?: number;
  /** Flow-control window of the connection, for all its streams together, bytes. */
  readonly connectionWindowBytes: number;
}

/**
 * The HTTP/2 connections of a server. Each is pinged regularly, since nothing else detects a client that was stopped or
 * unplugged, and destroyed if it does not answer.
 */
export class Sessions {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #limits: SessionLimits;
  readonly #openEndedPaths: ReadonlySet<string>;
  readonly #watches = new Map<ServerHttp2Session, Promise<void>>();

  constructor(
    deps: { readonly clock: Clock; readonly logger: Logger },
    limits: SessionLimits,
    openEndedPaths: ReadonlySet<string>,
  ) {
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#limits = limits;
    this.#openEndedPaths = openEndedPaths;
  }

  add(session: ServerHttp2Session): void {
    this.#watches.set(
      session,
      this.#watch(session).finally(() => this.#watches.delete(session)),
    );
  }

  /** Sends GOAWAY to all: streams continue, new ones are refused, and each connection closes after its last stream. */
  close(): void {
    for (const session of this.#watches.keys()) session.close();
  }

  destroy(): void {
    for (const session of this.#watches.keys()) session.destroy();
  }

  /** Resolves when all present connections have closed. */
  async closed(): Promise<void> {
    await Promise.all(this.#watches.values());
  }

  async #watch(session: ServerHttp2Session): Promise<void> {
    const closed = new AbortController();
    session.once("close", () => closed.abort());
    session.setLocalWindowSize(this.#limits.connectionWindowBytes);
    const unfinished = this.#trackRequests(session);
    this.#closeAtAge(session, closed.signal);
    try {
      const settings = new Promise((resolve) => session.once("remoteSettings", resolve));
      await this.#inTime(this.#limits.handshakeTimeoutMs, "settings", settings, closed.signal);
      for (;;) {
        await this.#clock.sleep(this.#limits.pingIntervalMs, closed.signal);
        await this.#inTime(this.#limits.pingTimeoutMs, "ping", ping(session), closed.signal);
        this.#cancelOverdue(unfinished);
      }
    } catch (err) {
      if (closed.signal.aborted) return;
      this.#logger.info({ err, peer: session.socket?.remoteAddress }, "closing a connection that does not answer");
      session.destroy();
    }
  }

  #closeAtAge(session: ServerHttp2Session, closed: AbortSignal): void {
    const { maxConnectionAgeMs } = this.#limits;
    if (maxConnectionAgeMs === undefined) return;
    this.#clock.sleep(ageOfOne(maxConnectionAgeMs, Math.random), closed).then(
      () => session.close(),
      () => {},
    );
  }

  async #inTime(ms: number, what: string, promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
    await withTimeout(readingClock(this.#clock), ms, what, raceSignal(promise, signal));
  }

  /** Requests that have not arrived completely, with their start times (monotonic, ms). */
  #trackRequests(session: ServerHttp2Session): Map<ServerHttp2Stream, number> {
    const unfinished = new Map<ServerHttp2Stream, number>();
    session.on("stream", (stream: ServerHttp2Stream, headers) => {
      if (stream.endAfterHeaders || this.#openEndedPaths.has(String(headers[":path"]))) return;
      unfinished.set(stream, this.#clock.monotonicMs());
      const forget = () => unfinished.delete(stream);
      stream.once("end", forget).once("close", forget);
    });
    return unfinished;
  }

  #cancelOverdue(unfinished: ReadonlyMap<ServerHttp2Stream, number>): void {
    const oldest = this.#clock.monotonicMs() - this.#limits.requestTimeoutMs;
    for (const [stream, since] of unfinished) if (since <= oldest) stream.close(constants.NGHTTP2_CANCEL);
  }
}

/** Jitter, so that connections opened together do not all reconnect together. */
function ageOfOne(maxAgeMs: number, random: () => number): number {
  return maxAgeMs * (0.9 + 0.2 * random());
}

function ping(session: ServerHttp2Session): Promise<void> {
  return new Promise((resolve, reject) => {
    if (session.destroyed) return reject(new DomainError("unavailable", "the connection is closed"));
    session.ping((err) => (err ? reject(err) : resolve()));
  });
}
