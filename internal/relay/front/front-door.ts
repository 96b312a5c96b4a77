import type { IncomingMessage } from "node:http";
import { AcpServer, type AgentFactory } from "@agentclientprotocol/sdk/experimental/server";
import { type WebSocket, WebSocketServer } from "ws";
import { tokenKey } from "../../auth/token-gate.ts";
import { DomainError } from "../../base/errors.ts";
import { requestBody } from "../../rpc/routes/request-body.ts";
import type { PlainOptions, Upgrade } from "../../rpc/routes/route.ts";
import type { CallContext } from "../../rpc/server/call-facts.ts";
import { readFrame } from "../acp/json-rpc.ts";
import { answersPing } from "../door/answers-ping.ts";
import { farewell } from "../door/farewell.ts";
import type { RelayMetrics } from "../lanes/relay-metrics.ts";
import { InitializedSocket, refusalBeforeInitialize } from "./before-initialize.ts";
import { EditorConnection, type EditorDeps, type EditorOptions } from "./editor-connection.ts";
import { EDITORS_SERVICE, frontPlaceOf } from "./front-gate.ts";
import type { FrontPlace } from "./front-place.ts";
import { HttpConnections } from "./http-connections.ts";

export interface FrontDoorDeps extends EditorDeps {
  readonly metrics: Pick<RelayMetrics, "connections" | "connectionsTotal">;
}

export interface FrontDoorOptions extends EditorOptions {
  readonly pingIntervalMs: number;
  readonly pongTimeoutMs: number;
}

/** The most connected editors. */
const MOST_EDITORS = 512;
/** The most unread output of an editor, in bytes. The library closes a connection that then reads nothing for 60 s. */
const BUFFERED_BYTES = 4 * 1024 * 1024;
const ID = "acp-connection-id";
const LABELS = { dialect: "acp", role: "editor" } as const;

/**
 * Serves editors at `/acp` by WebSocket and Streamable HTTP. Must run after `frontGate`. To editors the relay is an ACP
 * agent: a prompt is work of a lane, which any replica and any link may do.
 */
export class FrontDoor {
  readonly #deps: FrontDoorDeps;
  readonly #options: FrontDoorOptions;
  readonly #server: AcpServer;
  readonly #http: HttpConnections;
  readonly #sockets: WebSocketServer;
  readonly #ids = new WeakMap<IncomingMessage, string>();
  readonly #serving = new Set<Promise<void>>();

  constructor(deps: FrontDoorDeps, options: FrontDoorOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#server = new AcpServer({
      createAgent: () => this.#agent({ sessionId: undefined, role: undefined }),
      maxBufferedBytes: BUFFERED_BYTES,
      maxBufferedSessionStreams: 64,
      maxIdLength: 256,
    });
    this.#http = new HttpConnections(deps.clock, (request) => this.#server.handleRequest(request));
    this.#sockets = new WebSocketServer({
      noServer: true,
      clientTracking: true,
      perMessageDeflate: false,
      maxPayload: options.maxMessageBytes,
      handleProtocols: () => false,
    });
    this.#sockets.on("headers", (lines, request) => lines.push(`${ID}: ${this.#ids.get(request) ?? ""}`));
  }

  /** The door's routes, for a server whose gates run first. */
  get plain(): PlainOptions {
    const at = { path: "/acp", service: EDITORS_SERVICE, maxBodyBytes: this.#options.maxMessageBytes };
    return {
      routes: [{ ...at, methods: ["GET", "POST", "DELETE"], handle: (request, call) => this.#answer(request, call) }],
      upgrades: [{ ...at, handle: (upgrade, call) => this.#upgrade(upgrade, call) }],
    };
  }

  /** Closes connections of editors that have left silently, until the signal; then closes all. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#http.run(signal);
    } finally {
      // The library closes without a code, so close first.
      for (const socket of this.#sockets.clients) socket.close(1001, "the relay is shutting down");
      await this.#server.close();
      await Promise.all(this.#serving);
    }
  }

  async #answer(request: Request, call: CallContext): Promise<Response> {
    const token = call.values.get(tokenKey);
    const owner = token && `${token.claims.issuer} ${token.claims.subject} ${token.claims.project}`;
    const id = request.headers.get(ID);
    if (id !== null) return await this.#http.answer(request, id, owner);
    const sent = request.method === "POST" ? request.clone() : undefined;
    if (sent !== undefined) this.#admit();
    const agent = this.#agent(frontPlaceOf(call.values));
    const response = await this.#server.handleRequest(request, { agent });
    if (response.status === 400 && sent !== undefined) return (await refusalOfFirst(sent)) ?? response;
    const opened = response.headers.get(ID);
    if (opened !== null) this.#http.opened(opened, owner);
    return response;
  }

  async #upgrade({ req, take }: Upgrade, { signal, values }: CallContext): Promise<undefined> {
    this.#admit();
    const upgrade = this.#server.prepareWebSocketUpgrade({ agent: this.#agent(frontPlaceOf(values)) });
    this.#ids.set(req, upgrade.connectionId);
    const { socket, head } = take();
    const gone = () => upgrade.reject();
    if (socket.destroyed) {
      gone();
      return undefined;
    }
    socket.once("close", gone);
    this.#sockets.handleUpgrade(req, socket, head, (webSocket) => {
      socket.off("close", gone);
      // The library stops listening when it closes the socket; the editor may still send an invalid frame.
      webSocket.on("error", () => {});
      upgrade.accept(new InitializedSocket(webSocket));
      this.#keepAlive(webSocket, signal);
    });
    return undefined;
  }

  #admit(): void {
    if (this.#serving.size < MOST_EDITORS) return;
    throw new DomainError("exhausted", `${MOST_EDITORS} editors are connected`);
  }

  #agent(place: FrontPlace): ReturnType<AgentFactory> {
    return {
      connect: (stream) => {
        const { metrics, logger } = this.#deps;
        metrics.connections.inc(LABELS);
        metrics.connectionsTotal.inc({ outcome: "open" });
        logger.info(
          { action: "editor_connected", session_id: place.sessionId, role: place.role },
          "an editor is connected",
        );
        const served = EditorConnection.serve(this.#deps, this.#options, place, stream).finally(() => {
          metrics.connections.dec(LABELS);
          this.#serving.delete(served);
          logger.info(
            { action: "editor_disconnected", session_id: place.sessionId, role: place.role },
            "an editor is gone",
          );
        });
        this.#serving.add(served);
        return { closed: served };
      },
    };
  }

  /** Closes the socket when the call ends; terminates it if no pong comes in time. */
  #keepAlive(socket: WebSocket, over: AbortSignal): void {
    const { clock } = this.#deps;
    const { pingIntervalMs, pongTimeoutMs } = this.#options;
    const closed = new AbortController();
    socket.once("close", () => closed.abort());
    const leave = () => socket.close(...farewell(over.reason));
    if (over.aborted) leave();
    else over.addEventListener("abort", leave, { once: true, signal: closed.signal });
    const alive = async () => {
      do await clock.sleep(pingIntervalMs, closed.signal);
      while (await answersPing(socket, pongTimeoutMs, clock, closed.signal));
      socket.terminate();
    };
    alive().catch(() => {}); // the socket has closed
  }
}

/** The error for a body that comes before `initialize`. Undefined: it needs none, or is too large. */
async function refusalOfFirst(request: Request): Promise<Response | undefined> {
  const body = await requestBody(request);
  if (body === undefined) return undefined;
  const refusal = refusalBeforeInitialize(readFrame(new TextDecoder().decode(body)));
  if (refusal === undefined) return undefined;
  return new Response(refusal, { status: 400, headers: { "content-type": "application/json" } });
}
