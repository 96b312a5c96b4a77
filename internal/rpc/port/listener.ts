import { createServer as createHttp1Server, type Server as Http1Server, type IncomingMessage } from "node:http";
import {
  createServer as createHttp2Server,
  createSecureServer,
  type Http2SecureServer,
  type Http2Server,
  type ServerHttp2Session,
} from "node:http2";
import { createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { Clock } from "../../base/clock.ts";
import { serverTlsOptions, type TlsMaterial } from "../common/tls.ts";
import type { ConnectionDecision } from "./connection-decision.ts";
import { HalfOpen } from "./half-open.ts";
import { type HandshakeRate, HandshakeTurns } from "./handshake-turns.ts";
import { MAX_HEADER_BYTES } from "./header-limit.ts";
import { addressOf } from "./peer.ts";
import type { ServerRequest, ServerResponse12 } from "./request.ts";
import { sniffHttpVersion } from "./sniff.ts";

export interface ListenerLimits extends HandshakeRate {
  /**
   * The time for a TLS handshake, for the first bytes of a plaintext connection, and for the headers of an HTTP/1.1
   * request.
   */
  readonly handshakeTimeoutMs: number;
  /** The time for a complete HTTP/1.1 request. */
  readonly requestTimeoutMs: number;
  /** The most connections that have completed their handshake or sent their first bytes; see `OpenConnections`. */
  readonly maxConnections: number;
  /**
   * The most connections that have not yet completed their handshake (TLS) or sent their first bytes; see `HalfOpen`.
   */
  readonly maxHalfOpen: number;
  /** The most open streams of an HTTP/2 connection; further ones are reset before any code sees them. */
  readonly maxStreams: number;
  /** The idle time that `Keep-Alive` announces to HTTP/1.1 callers, ms; `OpenConnections` enforces it. */
  readonly idleMs: number;
}

/** Why a connection failed before its first request. */
export type ConnectionFault = "limit" | "half-open" | "handshake";

export interface ListenerHandlers {
  onRequest(req: ServerRequest, res: ServerResponse12): void;
  /**
   * True if an HTTP/1.1 request for an upgrade goes to `onUpgrade`; otherwise it is answered as an ordinary request.
   */
  isUpgrade(req: IncomingMessage): boolean;
  /** The handler owns the connection of this request from now on. */
  onUpgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void;
  onSession(session: ServerHttp2Session): void;
  /** Called for an HTTP/1.1 connection before its first request. */
  onHttp1(socket: Socket): void;
  onFault(fault: ConnectionFault): void;
  /** Called when a TLS handshake has failed. */
  onHandshakeFailed(decision: ConnectionDecision): void;
}

/** One port that speaks HTTP/1.1 and HTTP/2. */
export interface Listener {
  /** The server that listens and counts connections. */
  readonly server: Server;
  /** Stops listening and closes idle HTTP/1.1 connections; others continue. The caller must close HTTP/2 sessions. */
  close(): void;
  /**
   * Uses this TLS material for new connections. @throws Error for invalid PEM; the current material then stays in use
   */
  setTls?(material: TlsMaterial): void;
}

/**
 * Options of each HTTP/2 connection; the stream window bounds the unread data of one upload. A caller may cancel all
 * its streams at once, and then a limited number per second: opening and cancelling without end ("rapid reset") ends
 * the connection. PING and SETTINGS are acknowledged as long as the caller reads; nghttp2 allows 1,000 unread
 * acknowledgements.
 */
function http2Options({ maxStreams }: ListenerLimits) {
  return {
    maxSessionMemory: 64,
    streamResetBurst: 4096,
    streamResetRate: 200,
    settings: {
      initialWindowSize: 65_535,
      maxConcurrentStreams: maxStreams,
      maxHeaderListSize: MAX_HEADER_BYTES,
      enablePush: false,
    },
  };
}

/** A client that is stopped keeps its sockets; keep-alive lets the kernel notice a client that is gone. */
const KEEP_ALIVE = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 };

/**
 * TLS 1.3 with client certificates; ALPN selects the protocol. If a certificate is required, every connection without
 * one is refused, since the handshake fails first. If it is optional, one that does not verify is still refused. The
 * listening server passes each connection to Node's server when it is the connection's turn.
 */
export function createTlsListener(
  clock: Clock,
  { tls, isCertificateOptional }: { readonly tls: TlsMaterial; readonly isCertificateOptional: boolean },
  limits: ListenerLimits,
  handlers: ListenerHandlers,
): Listener {
  const secure = createSecureServer({
    ...serverTlsOptions(tls, isCertificateOptional),
    ...http2Options(limits),
    ...KEEP_ALIVE,
    allowHTTP1: true,
    handshakeTimeout: limits.handshakeTimeoutMs,
    http1Options: http1Limits(limits),
  } as Parameters<typeof createSecureServer>[0]);
  wireHttp2(secure, handlers);
  wireUpgrades(secure, handlers);
  const server = createServer(KEEP_ALIVE);
  const halfOpen = bounded(server, limits, handlers);
  const turns = new HandshakeTurns(clock, limits);
  server.on("connection", (socket) => {
    socket.on("error", () => socket.destroy());
    halfOpen.add(socket);
    turns.add(socket, () => secure.emit("connection", socket));
  });
  secure.on("secureConnection", (socket) => {
    halfOpen.done(socket);
    if (!socket.authorized && socket.getPeerX509Certificate() !== undefined) {
      handlers.onHandshakeFailed({ address: addressOf(socket), reason: reasonText(socket.authorizationError) });
      socket.destroy();
      return;
    }
    if (socket.alpnProtocol !== "h2") handlers.onHttp1(socket);
  });
  secure.on("tlsClientError", (err: NodeJS.ErrnoException, socket) => {
    // For a certificate that does not verify, Node sets the reason on the socket; the error says only that the socket
    // was closed.
    const reason: unknown = socket.authorizationError ?? err.code;
    handlers.onHandshakeFailed({ address: addressOf(wrappedBy(socket)), reason: reasonText(reason) });
  });
  watchSlowRequests(secure);
  return {
    server,
    close: () => {
      turns.close();
      server.close();
      secure.close();
    },
    setTls: (material) => secure.setSecureContext(serverTlsOptions(material, isCertificateOptional)),
  };
}

/**
 * Plaintext. Node's HTTP/2 server refuses HTTP/1.1 here, since there is no ALPN to ask. Therefore a third server
 * listens and passes each connection to an HTTP/1.1 or HTTP/2 server by its first bytes.
 */
export function createPlainListener(clock: Clock, limits: ListenerLimits, handlers: ListenerHandlers): Listener {
  const http1 = createHttp1Server({ ...http1Limits(limits), ...KEEP_ALIVE });
  http1.on("request", handlers.onRequest);
  wireUpgrades(http1, handlers);
  const http2 = createHttp2Server(http2Options(limits));
  wireHttp2(http2, handlers);
  // `allowHalfOpen`: an HTTP/1.1 client may close its side after writing the request.
  const server = createServer({ ...KEEP_ALIVE, allowHalfOpen: true });
  const halfOpen = bounded(server, limits, handlers);
  server.on("connection", async (socket) => {
    socket.on("error", () => socket.destroy());
    halfOpen.add(socket);
    const version = await sniffHttpVersion(socket, clock, limits.handshakeTimeoutMs);
    if (version === undefined) return;
    halfOpen.done(socket);
    if (version === "1") handlers.onHttp1(socket);
    if (!socket.destroyed) handOver(socket, version === "1" ? http1 : http2);
  });
  watchSlowRequests(http1);
  return {
    server,
    close: () => {
      server.close();
      http1.close();
    },
  };
}

/**
 * Starts Node's check for slow requests: a server starts it when it begins to listen, and this server never listens
 * itself.
 */
function watchSlowRequests(server: Http1Server | Http2SecureServer): void {
  server.emit("listening");
}

function bounded(server: Server, limits: ListenerLimits, { onFault }: ListenerHandlers): HalfOpen {
  // `HalfOpen` and `OpenConnections` have limits of their own and choose which connection to cut; this limit leaves
  // room for connections that are being closed.
  server.maxConnections = 2 * (limits.maxConnections + limits.maxHalfOpen);
  server.on("drop", () => onFault("limit"));
  return new HalfOpen(limits.maxHalfOpen, (what) => onFault(what === "cut" ? "half-open" : "handshake"));
}

function handOver(socket: Socket, to: Http1Server | Http2Server): void {
  if (!("requestTimeout" in to)) socket.allowHalfOpen = false;
  to.emit("connection", socket);
}

function wireHttp2(server: Http2Server | Http2SecureServer, handlers: ListenerHandlers): void {
  server.on("request", handlers.onRequest);
  server.on("session", handlers.onSession);
  server.on("sessionError", () => {}); // the session is destroyed, and its owner notices
}

/**
 * By default Node emits `upgrade` for *every* upgrade. `shouldUpgradeCallback` is set as a property, because a secure
 * HTTP/2 server has no option for it.
 */
function wireUpgrades(server: Http1Server | Http2SecureServer, handlers: ListenerHandlers): void {
  const isUpgrade = (req: IncomingMessage) =>
    req.headers.upgrade?.toLowerCase() === "websocket" && handlers.isUpgrade(req);
  Object.assign(server, { shouldUpgradeCallback: isUpgrade });
  server.on("upgrade", (req: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    handlers.onUpgrade(req, socket, head);
  });
}

function http1Limits(limits: ListenerLimits) {
  return {
    headersTimeout: limits.handshakeTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: Math.max(100, Math.min(5000, Math.round(limits.handshakeTimeoutMs / 2))),
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: limits.idleMs,
  };
}

/**
 * A destroyed TLS socket has lost its address; the socket below it was asked for the address earlier and still knows
 * it.
 */
function wrappedBy(socket: TLSSocket): Socket {
  const { _parent: below } = socket as TLSSocket & { readonly _parent?: Socket };
  return below?.remoteAddress === undefined ? socket : below;
}

/** Node has no codes for some of OpenSSL's verification errors, and gives no other information. */
function reasonText(reason: unknown): string {
  if (reason !== "UNSPECIFIED") return String(reason ?? "handshake failed");
  return "the certificate does not verify, for a reason without a code (a name that its CA may not issue, a weak key or digest, an unknown critical extension)";
}
