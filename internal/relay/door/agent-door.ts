import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type WebSocket, WebSocketServer } from "ws";
import { RateLimiter } from "../../auth/rate-limiter.ts";
import { DomainError, errorText } from "../../base/errors.ts";
import { Slots } from "../../base/slots.ts";
import type { PlainOptions, Upgrade } from "../../rpc/routes/route.ts";
import type { LaneDeps } from "../lanes/lane-deps.ts";
import type { Admitted, Lanes } from "../lanes/lanes.ts";
import { LaneHeld } from "../lanes/registry.ts";
import type { RelayEvents } from "../lanes/relay-events.ts";
import type { ChannelEnd } from "../links/channel-end.ts";
import type { FrameChannel } from "../links/frame-channel.ts";
import { holdWhileFull } from "../links/hold-while-full.ts";
import { type LinkDeps, type LinkOptions, makeLink } from "./make-link.ts";
import { isRefused, type Refusal, readPlace, type UpgradePlace } from "./upgrade-place.ts";
import { WebSocketChannel, type WebSocketLimits } from "./web-socket-channel.ts";

export interface AgentDoorDeps extends LinkDeps {
  readonly events: RelayEvents;
  readonly lanes: Lanes;
  readonly outbox: LaneDeps["outbox"];
  /** No one is admitted any more. */
  readonly ended: AbortSignal;
}

export interface AgentDoorOptions extends WebSocketLimits, LinkOptions {}

/** Lanes that are claimed at the same time; the others wait for their turn. */
const CLAIMS_AT_ONCE = 16;
/** Limits how often one agent dials one lane: two that supersede each other on and on are slowed down. */
const ARRIVALS = { what: "connections of this agent", perMinute: 120, burst: 60 };

/** Where agents dial in: `/acp/{session_id}/{role}?agent_id=…`. A refusal is an HTTP answer, before the 101. */
export class AgentDoor {
  readonly #deps: AgentDoorDeps;
  readonly #options: AgentDoorOptions;
  readonly #sockets: WebSocketServer;
  readonly #claims = new Slots(CLAIMS_AT_ONCE);
  readonly #arrivals: RateLimiter;
  readonly #serving = new Set<Promise<void>>();
  /** The subprotocol that the answer to an upgrade names. */
  readonly #subprotocols = new WeakMap<IncomingMessage, string>();

  constructor(deps: AgentDoorDeps, options: AgentDoorOptions) {
    this.#deps = deps;
    this.#arrivals = new RateLimiter(deps, ARRIVALS);
    this.#options = options;
    this.#sockets = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: options.maxMessageBytes,
      handleProtocols: (_offered, request) => this.#subprotocols.get(request) ?? false,
    });
  }

  /** For a server with trust, which lets a connection in before it comes here. */
  get plain(): PlainOptions {
    const at = { path: "/acp/**", service: "relay.agents" };
    return {
      routes: [{ ...at, methods: ["GET", "POST"], handle: (request) => answerTo(placeOf(request)) }],
      upgrades: [{ ...at, handle: (upgrade, { signal }) => this.#answer(upgrade, signal) }],
    };
  }

  /** `over` is aborted when the caller may stay no longer. */
  async #answer({ req, take }: Upgrade, over: AbortSignal): Promise<Response | undefined> {
    const { logger, metrics } = this.#deps;
    const place = readPlace({ url: req.url ?? "", headers: req.headers });
    const connectionId = randomUUID();
    const admitted = isRefused(place) ? place : await this.#admit(place, connectionId);
    if (isRefused(place) || "status" in admitted) {
      const { status, reason } = isRefused(place) ? place : (admitted as Refusal);
      metrics.connectionsTotal.inc({ outcome: String(status) });
      logger.warn({ action: "agent_refused", status, reason }, "an agent is refused");
      return refusal({ status, reason });
    }
    if (place.subprotocol !== undefined) this.#subprotocols.set(req, place.subprotocol);
    const { socket, head } = take();
    const gone = () => void admitted.abandon().catch(() => {});
    if (socket.destroyed) return void gone();
    socket.once("close", gone);
    this.#sockets.handleUpgrade(req, socket, head, (webSocket) => {
      socket.off("close", gone);
      metrics.connectionsTotal.inc({ outcome: "open" });
      const served = this.#serve({ place, connectionId, over }, admitted, webSocket);
      this.#serving.add(served);
      void served.finally(() => this.#serving.delete(served));
    });
    return undefined;
  }

  /** Resolves when no connection is open. */
  async idle(): Promise<void> {
    while (this.#serving.size > 0) await Promise.all(this.#serving);
  }

  async #admit({ lane, agentId, dialect }: UpgradePlace, connectionId: string): Promise<Admitted | Refusal> {
    try {
      this.#arrivals.take(lane.sessionId, lane.role, agentId);
      const who = { lane, agentId, connectionId, dialect };
      return await this.#claims.run(() => this.#deps.lanes.admit(who), this.#deps.ended);
    } catch (err) {
      if (err instanceof LaneHeld) return { status: 409, reason: err.message };
      if (err instanceof DomainError && err.kind === "exhausted") return { status: 429, reason: err.message };
      if (err instanceof DomainError) return { status: 503, reason: err.message };
      this.#deps.logger.error({ action: "admission_failed", err }, "an agent could not be admitted");
      return { status: 503, reason: "internal error" };
    }
  }

  async #serve({ place, connectionId, over }: Arrival, admitted: Admitted, socket: WebSocket): Promise<void> {
    const { lane, agentId } = place;
    const { clock, logger, metrics, events } = this.#deps;
    const channel = new WebSocketChannel(this.#deps, socket);
    holdWhileFull(this.#deps.outbox, channel);
    const names = { session_id: lane.sessionId, agent_id: agentId, role: lane.role };
    const began = clock.monotonicMs();
    metrics.connections.inc({ dialect: place.dialect, role: "agent" });
    logger.info({ action: "agent_connected", ...names, dialect: place.dialect }, "an agent is connected");
    events.publish(lane.sessionId, "agent.connected", { agent_id: agentId, role: lane.role, dialect: place.dialect });
    const alive = channel.keepAlive(this.#options);
    // A socket that has closed ends its call, too; the channel knows how it closed.
    const leave = () => {
      const why: unknown = over.reason;
      if (why instanceof DomainError && why.kind !== "cancelled") channel.close(...farewell(why));
    };
    if (over.aborted) leave();
    else over.addEventListener("abort", leave, { once: true, signal: channel.ended });
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

interface Arrival {
  readonly place: UpgradePlace;
  readonly connectionId: string;
  readonly over: AbortSignal;
}

function placeOf({ url, headers }: Request): UpgradePlace | Refusal {
  const { pathname, search } = new URL(url);
  return readPlace({ url: pathname + search, headers: Object.fromEntries(headers) });
}

/** Answers a request that is no upgrade. */
function answerTo(place: UpgradePlace | Refusal): Response {
  if (isRefused(place)) return refusal(place);
  return refusal({ status: 426, reason: "connect with WebSocket: GET with Upgrade: websocket" });
}

function refusal({ status, reason }: Refusal): Response {
  const headers = {
    "content-type": "text/plain; charset=utf-8",
    ...(status === 426 && { upgrade: "websocket" }),
    ...((status === 429 || status === 503) && { "retry-after": "1" }),
  };
  return new Response(`${reason}\n`, { status, headers });
}

/** Code and reason of a close, by why the connection may stay no longer. */
function farewell(why: DomainError): [number, string] {
  const { kind } = why;
  if (kind === "unauthenticated") return [4401, errorText(why).slice(0, 100)];
  return kind === "denied" ? [4403, errorText(why).slice(0, 100)] : [1001, "the relay is shutting down"];
}

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
  [4401, "unauthenticated"],
  [4403, "denied"],
  [4408, "no_pong"],
]);

function reasonLabel(code: number): string {
  return REASONS.get(code) ?? "other";
}
