import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { DomainError } from "../../base/errors.ts";
import { Slots } from "../../base/slots.ts";
import { type HostCheck, hostRefusal } from "../../rpc/server/host-check.ts";
import type { Admitted, Lanes } from "../lanes/lanes.ts";
import { LaneHeld } from "../lanes/registry.ts";
import type { RelayEvents } from "../lanes/relay-events.ts";
import type { ChannelEnd } from "../links/channel-end.ts";
import type { FrameChannel } from "../links/frame-channel.ts";
import { type LinkDeps, type LinkOptions, makeLink } from "./make-link.ts";
import { refuseUpgrade } from "./refuse-upgrade.ts";
import { isRefused, type Refusal, readPlace, type UpgradePlace } from "./upgrade-place.ts";
import { WebSocketChannel, type WebSocketLimits } from "./web-socket-channel.ts";

export interface AgentDoorDeps extends LinkDeps {
  readonly events: RelayEvents;
  readonly lanes: Lanes;
  /** No one is admitted any more. */
  readonly ended: AbortSignal;
}

export interface AgentDoorOptions extends WebSocketLimits, LinkOptions {
  readonly maxMessageBytes: number;
  readonly hostCheck: HostCheck;
}

/** Lanes that are claimed at the same time; the others wait for their turn. */
const CLAIMS_AT_ONCE = 16;

/** Where agents dial in: `/acp/{session_id}/{role}?agent_id=…`. A refusal is an HTTP answer, before the 101. */
export class AgentDoor {
  readonly #deps: AgentDoorDeps;
  readonly #options: AgentDoorOptions;
  readonly #sockets: WebSocketServer;
  readonly #claims = new Slots(CLAIMS_AT_ONCE);
  readonly #serving = new Set<Promise<void>>();

  constructor(deps: AgentDoorDeps, options: AgentDoorOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#sockets = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: options.maxMessageBytes,
      handleProtocols: (_offered, request) => subprotocolOf.get(request) ?? false,
    });
  }

  /** Answers an upgrade. It never throws. */
  async onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { logger, metrics } = this.#deps;
    const place = this.#placeOf(request);
    const connectionId = randomUUID();
    const admitted = isRefused(place) ? place : await this.#admit(place, connectionId);
    if ("status" in admitted) {
      metrics.connectionsTotal.inc({ outcome: String(admitted.status) });
      logger.warn({ action: "agent_refused", status: admitted.status, reason: admitted.reason }, "an agent is refused");
      return refuseUpgrade(socket, admitted);
    }
    if (isRefused(place)) return;
    if (place.subprotocol !== undefined) subprotocolOf.set(request, place.subprotocol);
    const gone = () => void admitted.abandon().catch(() => {});
    if (socket.destroyed) return gone();
    socket.once("close", gone);
    this.#sockets.handleUpgrade(request, socket, head, (webSocket) => {
      socket.off("close", gone);
      metrics.connectionsTotal.inc({ outcome: "open" });
      const served = this.#serve(place, connectionId, admitted, webSocket);
      this.#serving.add(served);
      void served.finally(() => this.#serving.delete(served));
    });
  }

  /** Resolves when no connection is open. */
  async idle(): Promise<void> {
    while (this.#serving.size > 0) await Promise.all(this.#serving);
  }

  /** Answers what is no upgrade. */
  onRequest(request: IncomingMessage, response: ServerResponse): void {
    const place = this.#placeOf(request);
    const { status, reason } = isRefused(place)
      ? place
      : { status: 426, reason: "connect with WebSocket: GET with Upgrade: websocket" };
    response.writeHead(status, {
      "content-type": "text/plain; charset=utf-8",
      ...(status === 426 && { upgrade: "websocket" }),
    });
    response.end(`${reason}\n`);
  }

  #placeOf(request: IncomingMessage): UpgradePlace | Refusal {
    const { host, origin } = request.headers;
    const refused = hostRefusal(host, origin, this.#options.hostCheck);
    if (refused !== undefined) return { status: 403, reason: refused };
    return readPlace({ url: request.url ?? "", headers: request.headers });
  }

  async #admit({ lane, agentId, dialect }: UpgradePlace, connectionId: string): Promise<Admitted | Refusal> {
    try {
      const who = { lane, agentId, connectionId, dialect };
      return await this.#claims.run(() => this.#deps.lanes.admit(who), this.#deps.ended);
    } catch (err) {
      if (err instanceof LaneHeld) return { status: 409, reason: err.message };
      if (err instanceof DomainError) return { status: 503, reason: err.message };
      this.#deps.logger.error({ action: "admission_failed", err }, "an agent could not be admitted");
      return { status: 503, reason: "internal error" };
    }
  }

  async #serve(place: UpgradePlace, connectionId: string, admitted: Admitted, socket: WebSocket): Promise<void> {
    const { lane, agentId } = place;
    const { clock, logger, metrics, events } = this.#deps;
    const channel = new WebSocketChannel(this.#deps, socket);
    const names = { session_id: lane.sessionId, agent_id: agentId, role: lane.role };
    const began = clock.monotonicMs();
    metrics.connections.inc({ dialect: place.dialect, role: "agent" });
    logger.info({ action: "agent_connected", ...names, dialect: place.dialect }, "an agent is connected");
    events.publish(lane.sessionId, "agent.connected", { agent_id: agentId, role: lane.role, dialect: place.dialect });
    const alive = channel.keepAlive(this.#options);
    try {
      await admitted.serve(makeLink(this.#deps, this.#options, place, connectionId, channel));
    } catch (err) {
      logger.error({ action: "serving_failed", ...names, err }, "a connection failed");
      channel.close(1011, "internal error");
    }
    await ended(channel);
    await alive;
    const { code, why } = channel.ended.reason as ChannelEnd;
    metrics.connections.dec({ dialect: place.dialect, role: "agent" });
    metrics.disconnects.inc({ reason: reasonLabel(code) });
    metrics.connectionSeconds.observe((clock.monotonicMs() - began) / 1000);
    logger.info({ action: "agent_disconnected", ...names, reason: why, code }, "an agent is gone");
    events.publish(lane.sessionId, "agent.disconnected", { agent_id: agentId, role: lane.role, reason: why, code });
  }
}

/** What is to be echoed to an upgrade. */
const subprotocolOf = new WeakMap<IncomingMessage, string>();

function ended({ ended: signal }: FrameChannel): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

const REASONS: ReadonlyMap<number, string> = new Map([
  [1000, "normal"],
  [1001, "away"],
  [1003, "binary"],
  [1006, "cut"],
  [1009, "too_large"],
  [4001, "superseded"],
  [4400, "invalid_frames"],
  [4408, "no_pong"],
]);

function reasonLabel(code: number): string {
  return REASONS.get(code) ?? "other";
}
