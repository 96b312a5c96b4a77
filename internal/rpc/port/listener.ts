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
  /** TLS handshake, first bytes of a plaintext connection, headers of an HTTP/1.1 request. */
  readonly handshakeTimeoutMs: number;
  /** A whole HTTP/1.1 request. */
  readonly requestTimeoutMs: number;
  /** Past their handshake, or their first bytes; see `OpenConnections`. */
  readonly maxConnections: number;
  /** How many more may be before the end of their handshake (TLS) or their first bytes; one more cuts the oldest. */
  readonly maxHalfOpen: number;
  /** Streams of an HTTP/2 connection that are open at a time; further ones are reset before anything looks at them. */
  readonly maxStreams: number;
}

/** Why a connection came to nothing before its first request. */
export type ConnectionFault = "limit" | "half-open" | "handshake";

export interface ListenerHandlers {
  onRequest(req: ServerRequest, res: ServerResponse12): void;
  /** Whether an HTTP/1.1 request that asks for an upgrade goes to `onUpgrade`: any other is answered as without. */
  isUpgrade(req: IncomingMessage): boolean;
  /** The connection of this request is nobody else's from now on. */
  onUpgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void;
  onSession(session: ServerHttp2Session): void;
  /** An HTTP/1.1 connection, before its first request. */
  onHttp1(socket: Socket): void;
  onFault(fault: ConnectionFault): void;
  /** A TLS handshake came to nothing. */
  onHandshakeFailed(decision: ConnectionDecision): void;
}

/** One port that speaks HTTP/1.1 and HTTP/2. */
export interface Listener {
  /** What listens and counts the connections. */
  readonly server: Server;
  /** Stops listening and closes idle HTTP/1.1 connections; the others continue. HTTP/2 sessions are the caller's. */
  close(): void;
  /** TLS for new connections from now on. @throws Error for bad PEM; the old one stays then. */
  setTls?(material: TlsMaterial): void;
}

/**
 * Of each HTTP/2 connection; the stream window bounds what one upload may have on its way to us. A caller may cancel
 * all streams it can have at once, and then so many a second: opening and cancelling forever ("rapid reset") ends the
 * connection. PING and SETTINGS are answered as long as the answers are read, up to 1,000 that are not (nghttp2's own).
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

/** A client that was stopped keeps its sockets; the kernel finds out about one that is gone. */
const KEEP_ALIVE = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 };

/**
 * TLS 1.3 with client certificates; ALPN chooses the protocol. Where a certificate is required, an HTTP/1.1 request is
 * refused without one like any other: the handshake fails first. Where it is optional, one that does not verify is
 * refused all the same. Node's server gets its connections from one that listens, each when it is its
 * turn.
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
    // Of a certificate that does not verify Node tells on the socket; its error says that the socket was closed.
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
 * Plaintext. Node's HTTP/2 server refuses HTTP/1.1 here (there is no ALPN to ask), so two servers that do not listen
 * themselves get their connections from one that does, by the first bytes of each.
 */
export function createPlainListener(clock: Clock, limits: ListenerLimits, handlers: ListenerHandlers): Listener {
  const http1 = createHttp1Server({ ...http1Limits(limits), ...KEEP_ALIVE });
  http1.on("request", handlers.onRequest);
  wireUpgrades(http1, handlers);
  const http2 = createHttp2Server(http2Options(limits));
  wireHttp2(http2, handlers);
  // Half-open, because an HTTP/1.1 client may close its side once the request is written.
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

/** Node does it when its server begins to listen, which one that is handed its connections never does. */
function watchSlowRequests(server: Http1Server | Http2SecureServer): void {
  server.emit("listening");
}

function bounded(server: Server, limits: ListenerLimits, { onFault }: ListenerHandlers): HalfOpen {
  // Each kind has its own bound, which cuts the right ones; this one is for those that are being closed.
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
  server.on("sessionError", () => {}); // the session is destroyed and its owner sees that
}

/** Node gives *every* upgrade to a listener for them; a secure HTTP/2 server asks this property, and has no option. */
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
    keepAliveTimeout: 60_000,
  };
}

/** A TLS socket that was destroyed has forgotten its address; the one below it was asked before and has not. */
function wrappedBy(socket: TLSSocket): Socket {
  const { _parent: below } = socket as TLSSocket & { readonly _parent?: Socket };
  return below?.remoteAddress === undefined ? socket : below;
}

/** Node has no names for some of OpenSSL's verdicts on a certificate, and tells nothing else of them. */
function reasonText(reason: unknown): string {
  if (reason !== "UNSPECIFIED") return String(reason ?? "handshake failed");
  return "the certificate does not verify, for a reason without a code (a name that its CA may not issue, a weak key or digest, an unknown critical extension)";
}
