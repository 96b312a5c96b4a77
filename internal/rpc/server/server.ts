import { setMaxListeners } from "node:events";
import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { Interceptor } from "@connectrpc/connect";
import { aborted, within } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import { connectErrorOf, type FieldsOfKind } from "../common/errors.ts";
import type { TlsMaterial } from "../common/tls.ts";
import { callerKey } from "../port/caller.ts";
import { CallerConnections } from "../port/caller-connections.ts";
import { ConnectionAges } from "../port/connection-ages.ts";
import type { ConnectionDecision } from "../port/connection-decision.ts";
import { ConnectionMetrics } from "../port/connection-metrics.ts";
import { type Admission, type AdmittedUntil, Connections } from "../port/connections.ts";
import { type ListenAddress, listen } from "../port/listen.ts";
import {
  type ConnectionFault,
  createPlainListener,
  createTlsListener,
  type Listener,
  type ListenerLimits,
} from "../port/listener.ts";
import type { ConnectionLimits } from "../port/open-connections.ts";
import type { Identify, Peer } from "../port/peer.ts";
import type { ServerRequest, ServerResponse12 } from "../port/request.ts";
import { type SessionLimits, Sessions } from "../port/sessions.ts";
import { type Adapter, createAdapter, type Routes } from "./adapter.ts";
import { arrivals } from "./arrivals.ts";
import { type CallLimits, Calls } from "./calls.ts";
import type { Decisions } from "./decisions.ts";
import { errorInterceptor } from "./error-interceptor.ts";
import { type Gate, Guard, type PlainServing } from "./guard.ts";
import type { HealthState } from "./health.ts";
import type { HostCheck } from "./host-check.ts";
import type { Metrics } from "./metrics.ts";

export interface RpcServerDeps {
  readonly logger: Logger;
  readonly clock: Clock;
  /** Reports NOT_SERVING when the server begins to stop. */
  readonly health?: HealthState;
  readonly metrics?: Metrics;
  /** For an audit log. If set, the details of a refusal contain the call's correlation id. */
  readonly decisions?: Decisions | undefined;
}

/** With `path` it serves a unix socket: plaintext, with peers of type `local`. */
export interface RpcServerOptions extends ListenAddress {
  readonly routes: Routes;
  /** Given: TLS 1.3 with client certificates only. Absent: plaintext. */
  readonly tls?: TlsMaterial;
  /** With `tls`. `optional`: the gates decide about callers without a certificate. Default: `required`. */
  readonly clientCertificate?: "required" | "optional";
  /**
   * With `tls`: refuses callers although their certificate is valid; called again when a certificate expires and at
   * `setTls`.
   */
  readonly admit?: Admission;
  /**
   * With `admit`: when to call it again for a caller, e.g. when a CA above its certificate expires. Default: when the
   * certificate expires.
   */
  readonly admittedUntil?: AdmittedUntil;
  /** With `tls`: names the owner of a certificate without a URI name. Default: such a caller has no identity. */
  readonly identify?: Identify;
  /** Trusts a peer to name, in the header `gastown-sender`, the person on whose behalf it calls. Default: none. */
  readonly believes?: ((peer: Peer) => boolean) | undefined;
  /** The share in which a caller's calls to a path are counted; `share` is the caller's own, which is the default. */
  readonly shareOf?: (path: string, share: string) => string;
  /** The accepted values of `Host` and `Origin`; default: any. For plaintext listeners. */
  readonly hostCheck?: HostCheck;
  /** Run in order before a request's body is read; errors become the response. The place to authenticate. */
  readonly gates?: readonly Gate[];
  /** Plain HTTP routes and upgrades besides RPCs: see `plainServing` in `rpc/routes`. */
  readonly plain?: PlainServing | undefined;
  /** Run inside the server's own interceptors (metrics, errors). */
  readonly interceptors?: readonly Interceptor[] | undefined;
  /** Adds our ErrorInfo to the details of every error, including those that Connect itself makes. Default true. */
  readonly describesErrors?: boolean;
  /** Fields in the ErrorInfo of errors that Connect itself makes. Default: none. */
  readonly errorFields?: FieldsOfKind;
  /** Answers other requests. Default: 404. */
  readonly fallback?: (req: ServerRequest, res: ServerResponse12) => void | Promise<void>;
  /** The largest request message, bytes; a larger one fails with `resource_exhausted`. Default 512 KiB. */
  readonly readMaxBytes?: number | undefined;
  /** Wait between NOT_SERVING and the end of listening, so that callers can turn to another server, ms. Default 0. */
  readonly drainDelayMs?: number;
  /** How long calls may continue after they were asked to stop, ms. Default 5 s. */
  readonly graceMs?: number;
  readonly limits?: Partial<Limits>;
  /** True for peers that have a role before any call. Default: for all. */
  readonly hasRole?: (peer: Peer) => boolean;
  /** True for services that a peer without a role may call: calling them does not prove a role. */
  readonly isOpenToAll?: (service: string) => boolean;
}

type Limits = ListenerLimits & SessionLimits & CallLimits & ConnectionLimits;

const LIMITS: Limits = {
  handshakeTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  maxConnections: 4000,
  maxConnectionsOfOne: 3000,
  maxWithoutRole: 64,
  idleMs: 60_000,
  idleWithoutRoleMs: 10_000,
  mayCutBusy: false,
  maxHalfOpen: 512,
  maxStreams: 4096,
  handshakesPerSecond: 100,
  handshakeBurst: 256,
  pingIntervalMs: 30_000,
  pingTimeoutMs: 15_000,
  connectionWindowBytes: 1024 * 1024,
  maxCalls: 4096,
  maxCallsOfOne: 3072,
  maxRequestBytes: 32 * 1024 * 1024,
  maxRequestBytesOfOne: 32 * 1024 * 1024,
  maxAnswerBytes: 128 * 1024 * 1024,
  maxAnswerBytesOfOne: 96 * 1024 * 1024,
};

/**
 * Serves Connect, gRPC and gRPC-Web over HTTP/2 and HTTP/1.1 on one port. Streams may be silent without a limit: there
 * is no write time-out; dead peers are detected by PING (HTTP/2) or the kernel (HTTP/1.1). Nothing is compressed.
 *
 * `run` stops in this order: health reports NOT_SERVING; new connections are refused, and existing ones get GOAWAY;
 * calls are aborted with `unavailable: the server is shutting down`; remaining connections are cut after the grace
 * time.
 */
export class RpcServer implements Task {
  readonly #deps: RpcServerDeps;
  readonly #options: RpcServerOptions;
  readonly #listening = Promise.withResolvers<ListenAddress>();
  readonly #connections: Connections;
  readonly #callers: CallerConnections;
  readonly #connectionMetrics: ConnectionMetrics | undefined;
  #listener: Listener | undefined;

  constructor(deps: RpcServerDeps, options: RpcServerOptions) {
    this.#deps = deps;
    this.#options = options;
    const isLocal = options.path !== undefined;
    const { admit, admittedUntil, identify } = options;
    this.#connections = new Connections({ ...deps, isLocal, identify }, admit, admittedUntil, (decision) =>
      deps.decisions?.connection(decision),
    );
    this.#connectionMetrics = deps.metrics && new ConnectionMetrics(deps.metrics.registry);
    const hasRole = options.hasRole ?? (() => true);
    const onCut = () => this.#connectionMetrics?.fault("limit");
    const callers = { clock: deps.clock, hasRole, onCut };
    this.#callers = new CallerConnections(callers, { ...LIMITS, ...options.limits });
    this.#listening.promise.catch(() => {}); // `run` throws the same error
  }

  /** The address it listens on; rejects if `run` fails. */
  get listening(): Promise<ListenAddress> {
    return this.#listening.promise;
  }

  /**
   * Uses `material` for new handshakes. Existing connections continue, unless `admit`, which is called for each of them
   * soon after, refuses them.
   * @throws Error for invalid PEM; the current material then stays in use
   */
  setTls(material: TlsMaterial): void {
    this.#listener?.setTls?.(material);
    this.#connections.reconsider();
  }

  /**
   * @throws DomainError `unavailable` if it cannot listen on the address
   * @throws Error for TLS material that is not PEM
   */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#serve(signal);
    } catch (err) {
      this.#listening.reject(err);
      throw err;
    }
  }

  async #serve(signal: AbortSignal): Promise<void> {
    const shutdown = new AbortController();
    setMaxListeners(0, shutdown.signal);
    const limits = { ...LIMITS, ...this.#options.limits };
    const parts = { connections: this.#connections, callers: this.#callers, calls: new Calls(limits) };
    const guard = new Guard({ ...this.#deps, ...parts, shutdown: shutdown.signal }, this.#options);
    const adapter = this.#createAdapter(guard, shutdown.signal);
    const sessions = new Sessions(this.#deps, limits, adapter.openEndedPaths);
    const listener = this.#createListener(guard, adapter, sessions, limits, shutdown.signal);
    const sockets = trackSockets(listener);
    this.#listener = listener;
    this.#connectionMetrics?.observe(() => sockets.size);
    try {
      this.#listening.resolve(await listen(listener.server, this.#options));
    } catch (err) {
      listener.close();
      throw err;
    }
    // Errors of single connections, such as too many open files; without a listener they would end the process.
    listener.server.on("error", (err) => this.#deps.logger.warn({ err }, "cannot accept a connection"));
    const watching = this.#options.admit && this.#connections.run(signal);
    await aborted(signal);
    await watching;
    await this.#stop(listener, sessions, shutdown, sockets);
  }

  #createAdapter(guard: Guard, shutdownSignal: AbortSignal): Adapter {
    const { routes, plain, interceptors = [], fallback, readMaxBytes = 512 * 1024 } = this.#options;
    const { describesErrors = true, errorFields } = this.#options;
    const { logger, metrics } = this.#deps;
    return createAdapter(logger, {
      routes,
      plain: plain && ((path) => plain.route(path, guard)),
      fallback,
      describesErrors,
      errorFields,
      readMaxBytes,
      // An unknown field takes two bytes of a request, and a hundred in memory for as long as the call lasts.
      binaryOptions: { readUnknownFields: false },
      shutdownSignal,
      acceptCompression: [],
      requestGate: (context) => guard.check(context),
      interceptors: [
        ...(metrics ? [metrics.interceptor()] : []),
        errorInterceptor(logger, describesErrors, errorFields),
        ...interceptors,
      ],
      contextValues: (req) => guard.valuesOf(req),
      enter: (values) => guard.enter(values),
      began: (values, abort, unary) => guard.began(values, abort, unary),
    });
  }

  #createListener(guard: Guard, adapter: Adapter, sessions: Sessions, limits: Limits, shutdown: AbortSignal): Listener {
    const connections = this.#connections;
    const callers = this.#callers;
    const ages = new ConnectionAges(this.#deps.clock, limits.maxConnectionAgeMs);
    const handlers = {
      onSession(session: ServerHttp2Session) {
        sessions.add(session);
        callers.addSession(session, connections.add(session));
      },
      onHttp1: (socket: Socket) => {
        ages.began(socket);
        callers.addSocket(socket, connections.add(socket));
      },
      onFault: (fault: ConnectionFault) => this.#connectionMetrics?.fault(fault),
      onHandshakeFailed: (decision: ConnectionDecision) => this.#deps.decisions?.connection(decision),
      ...arrivals({
        ...{ adapter, connections, callers, ages, shutdown },
        upgrade: (path) => this.#options.plain?.upgrade(path, guard),
        shareOf: (req) => guard.valuesOf(req).get(callerKey).share,
      }),
    };
    const { clock } = this.#deps;
    const { tls } = this.#options;
    const isCertificateOptional = this.#options.clientCertificate === "optional";
    return tls
      ? createTlsListener(clock, { tls, isCertificateOptional }, limits, handlers)
      : createPlainListener(clock, limits, handlers);
  }

  async #stop(
    listener: Listener,
    sessions: Sessions,
    shutdown: AbortController,
    sockets: ReadonlySet<Socket>,
  ): Promise<void> {
    const { drainDelayMs = 0, graceMs = 5000 } = this.#options;
    const { clock, health } = this.#deps;
    health?.shutDown();
    if (drainDelayMs > 0) await clock.sleep(drainDelayMs);
    const closed = new Promise<void>((resolve) => listener.server.once("close", resolve));
    listener.close();
    sessions.close();
    shutdown.abort(connectErrorOf(new DomainError("unavailable", "the server is shutting down")));
    await within(clock, graceMs, closed);
    sessions.destroy();
    for (const socket of sockets) socket.destroy();
    await closed;
    await sessions.closed();
  }
}

function trackSockets(listener: Listener): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  listener.server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
}
