import type { X509Certificate } from "node:crypto";
import type { Http2Session } from "node:http2";
import type { Socket } from "node:net";
import type { Clock } from "../../base/clock.ts";
import type { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import type { ConnectionDecision } from "./connection-decision.ts";
import { type Identify, type Peer, peerOfSocket } from "./peer.ts";
import type { ServerRequest } from "./request.ts";

/**
 * Decides whether the owner of a certificate may call, or may continue to (`isNew` false); undefined: it may. Called
 * repeatedly, so it must be cheap.
 */
export type Admission = (certificate: X509Certificate, isNew: boolean) => DomainError | undefined;

/** When a caller's admission ends, wall clock, ms: at the end of its certificate or of a CA above it. */
export type AdmittedUntil = (certificate: X509Certificate) => number;

/** The longest wait between two checks, since the wall clock may be set meanwhile. */
const LOOK_AT_LEAST_EVERY_MS = 60_000;
/** How long unary calls may continue on a connection that is being ended. */
const PATIENCE_MS = 5000;
/** Time between the last response on a connection and its end, so that the response arrives. */
const FLUSH_MS = 1000;
/** The number of connections to check before yielding to other work. */
const BATCH = 50;

interface Call {
  readonly abort: AbortController;
  readonly unary: boolean;
}

interface Connection {
  readonly peer: Peer;
  readonly certificate: X509Certificate;
  readonly calls: Set<Call>;
  /** Aborted when the connection is closed. */
  readonly closed: AbortSignal;
  refusal?: DomainError;
  /** Refuses new calls, if the protocol can express that. */
  goAway(): void;
  destroy(): void;
}

/**
 * The peers of a server's connections. A connection with a certificate is checked when it is opened, when its
 * certificate expires and when our trust changes (`reconsider`); if its owner may no longer call, it is ended in a way
 * that depends on the error:
 *
 * - `unavailable` (the certificate may have been renewed): no new calls; streams end at once with that error, other
 * calls within 5 s;
 * - any other error: every call fails with it, and the connection is cut after 1 s.
 */
export class Connections implements Task {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #reading: { readonly isLocal: boolean; readonly identify: Identify | undefined };
  readonly #admit: Admission | undefined;
  readonly #until: AdmittedUntil;
  readonly #decided: (decision: ConnectionDecision) => void;
  readonly #peers = new WeakMap<object, Peer>();
  readonly #byPeer = new WeakMap<Peer, Connection>();
  readonly #open = new Set<Connection>();
  #wake = new AbortController();
  #nextLook = Number.POSITIVE_INFINITY;

  /**
   * `isLocal`: the connections are at a unix socket. `identify`: names the owner of a certificate without a URI name.
   * `until`: by default, when the certificate itself expires. `decided`: called for each connection that is refused or
   * ended.
   */
  constructor(
    deps: {
      readonly clock: Clock;
      readonly logger: Logger;
      readonly isLocal?: boolean;
      readonly identify?: Identify | undefined;
    },
    admit?: Admission,
    until: AdmittedUntil = (certificate) => certificate.validToDate.getTime(),
    decided: (decision: ConnectionDecision) => void = () => {},
  ) {
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#reading = { isLocal: deps.isLocal ?? false, identify: deps.identify };
    this.#admit = admit;
    this.#until = until;
    this.#decided = decided;
  }

  /** The peer of a request; each connection is examined only once. */
  peerOf(req: ServerRequest): Peer {
    const connection = "stream" in req ? req.stream.session : req.socket;
    if (connection === undefined) return { type: "unverified", address: "" };
    return this.#peers.get(connection) ?? this.add(connection);
  }

  add(connection: Http2Session | Socket): Peer {
    const isHttp2 = "socket" in connection;
    const { peer, certificate } = peerOfSocket(isHttp2 ? connection.socket : connection, this.#reading);
    this.#peers.set(connection, peer);
    if (certificate === undefined || this.#admit === undefined) return peer;
    const closed = new AbortController();
    const record: Connection = {
      peer,
      certificate,
      calls: new Set(),
      closed: closed.signal,
      goAway: () => isHttp2 && connection.close(),
      destroy: () => connection.destroy(),
    };
    this.#open.add(record);
    this.#byPeer.set(peer, record);
    connection.once("close", () => {
      this.#open.delete(record);
      closed.abort();
    });
    this.#consider(record, true);
    if (this.#until(certificate) < this.#nextLook) this.reconsider();
    return peer;
  }

  /** The error with which this peer's calls are refused; undefined: none. */
  refusalOf(peer: Peer): DomainError | undefined {
    return this.#byPeer.get(peer)?.refusal;
  }

  /** Aborts `abort` if the call's connection loses our trust while the call is in progress. */
  track(peer: Peer, abort: AbortController, unary: boolean): void {
    const { signal } = abort;
    const record = this.#byPeer.get(peer);
    if (record === undefined || signal.aborted) return;
    const call = { abort, unary };
    record.calls.add(call);
    signal.addEventListener("abort", () => record.calls.delete(call), { once: true });
  }

  /** Checks every connection again soon, because our trust has changed. */
  reconsider(): void {
    this.#wake.abort();
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#wake = new AbortController();
      await this.#considerAll();
      const now = this.#clock.now();
      const ends = [...this.#open].map((record) =>
        record.refusal ? Number.POSITIVE_INFINITY : this.#until(record.certificate),
      );
      this.#nextLook = ends.reduce((first, end) => Math.min(first, end), now + LOOK_AT_LEAST_EVERY_MS);
      const wake = AbortSignal.any([signal, this.#wake.signal]);
      await this.#clock.sleep(Math.max(1, this.#nextLook - now), wake).catch(() => {});
    }
  }

  async #considerAll(): Promise<void> {
    let looked = 0;
    for (const record of [...this.#open]) {
      this.#consider(record, false);
      if (++looked % BATCH === 0) await this.#clock.sleep(0);
    }
  }

  #consider(record: Connection, isNew: boolean): void {
    if (record.refusal !== undefined) return;
    const { peer, certificate } = record;
    const refusal = this.#admit?.(certificate, isNew);
    if (refusal === undefined) return;
    record.refusal = refusal;
    const identity = peer.type === "certificate" ? peer.identities[0] : undefined;
    const who = { peer: peer.address, identity, serial: certificate.serialNumber };
    this.#logger.info({ ...who, why: refusal.message }, isNew ? "refusing a caller" : "ending a caller's connection");
    const { address } = peer;
    const { serialNumber: serial } = certificate;
    this.#decided({ address, serial, reason: refusal.message, identity });
    void this.#end(record, refusal);
  }

  async #end(record: Connection, refusal: DomainError): Promise<void> {
    const patient = refusal.kind === "unavailable";
    if (patient) record.goAway();
    for (const { abort, unary } of record.calls) if (!unary || !patient) abort.abort(refusal);
    try {
      if (patient) await this.#clock.sleep(PATIENCE_MS, record.closed);
      for (const { abort } of record.calls) abort.abort(refusal);
      await this.#clock.sleep(FLUSH_MS, record.closed);
    } catch {
      // The connection closed by itself.
    }
    record.destroy();
  }
}
