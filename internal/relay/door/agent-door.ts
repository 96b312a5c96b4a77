import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { WebSocketServer } from "ws";
import type { AuditLog } from "../../auth/audit-log.ts";
import { RateLimiter } from "../../auth/rate-limiter.ts";
import { tokenKey } from "../../auth/token-gate.ts";
import type { VerifiedToken } from "../../auth/token-verifier.ts";
import { aborted } from "../../base/abort.ts";
import { DomainError } from "../../base/errors.ts";
import { Slots } from "../../base/slots.ts";
import { type Peer, peerKey } from "../../rpc/port/peer.ts";
import { requestBody } from "../../rpc/routes/request-body.ts";
import type { PlainOptions, Upgrade } from "../../rpc/routes/route.ts";
import type { CallContext } from "../../rpc/server/call-facts.ts";
import type { LaneDeps } from "../lanes/lane-deps.ts";
import type { Admitted, Lanes } from "../lanes/lanes.ts";
import type { RelayEvents } from "../lanes/relay-events.ts";
import { type ChannelEnd, FRAME_TOO_LARGE } from "../links/channel-end.ts";
import type { FrameChannel } from "../links/frame-channel.ts";
import { holdWhileFull } from "../links/hold-while-full.ts";
import { laneKey } from "../nats/subjects.ts";
import { AGENTS_SERVICE, countRefusal, upgradePlaceOf } from "./agent-gate.ts";
import { EventStreamChannel } from "./event-stream-channel.ts";
import { farewell } from "./farewell.ts";
import { FrameRates } from "./frame-rates.ts";
import { type LinkDeps, type LinkOptions, makeLink } from "./make-link.ts";
import { type OpenCall, renewalOf } from "./token-renewal.ts";
import { isRefused, type UpgradePlace } from "./upgrade-place.ts";
import { WebSocketChannel, type WebSocketLimits } from "./web-socket-channel.ts";

export interface AgentDoorDeps extends LinkDeps {
  readonly events: RelayEvents;
  readonly lanes: Lanes;
  readonly outbox: LaneDeps["outbox"];
  /** Records whether each agent that has passed the gates is admitted or refused. */
  readonly audit?: Pick<AuditLog, "policy"> | undefined;
  /** Extends the calls of a connection to the end of this token, if that is later. */
  readonly renew: (connection: Peer, token: VerifiedToken) => void;
  /** Aborted when the relay stops admitting agents. */
  readonly ended: AbortSignal;
}

export interface AgentDoorOptions extends WebSocketLimits, LinkOptions {}

/** The most lanes that are claimed concurrently; further claims wait. */
const CLAIMS_AT_ONCE = 16;
/**
 * Limits how often one agent dials one lane, to slow down two processes of an agent that supersede each other in a
 * loop.
 */
const ARRIVALS = { what: "connections of this agent", perMinute: 120, burst: 60 };

/**
 * Accepts agents' connections at `/acp/{session_id}/{role}?agent_id=…`. Must run after `agentGate`. Refuses a
 * connection with an HTTP response, before the 101. `POST /acp/{session_id}/{role}/token` extends the connection
 * `Acp-Connection-Id` to the end of its token.
 */
export class AgentDoor {
  readonly #deps: AgentDoorDeps;
  readonly #options: AgentDoorOptions;
  readonly #sockets: WebSocketServer;
  readonly #claims = new Slots(CLAIMS_AT_ONCE);
  readonly #arrivals: RateLimiter;
  readonly #rates: FrameRates;
  readonly #serving = new Set<Promise<void>>();
  /** Open connections by id. */
  readonly #open = new Map<string, OpenCall>();
  /** Open connections without WebSocket, by id. */
  readonly #streams = new Map<string, OpenStream>();
  /** Values for the response to an upgrade. */
  readonly #answers = new WeakMap<IncomingMessage, Named>();

  constructor(deps: AgentDoorDeps, options: AgentDoorOptions) {
    this.#deps = deps;
    this.#arrivals = new RateLimiter(deps, ARRIVALS);
    this.#rates = new FrameRates(deps);
    this.#options = options;
    this.#sockets = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: options.maxMessageBytes,
      handleProtocols: (_offered, request) => this.#answers.get(request)?.subprotocol ?? false,
    });
    this.#sockets.on("headers", (lines, request) => {
      const named = this.#answers.get(request);
      if (named !== undefined) lines.push(`${CONNECTION_ID}: ${named.connectionId}`);
    });
  }

  /** The door's routes, for a server whose gates run first. */
  get plain(): PlainOptions {
    const { maxMessageBytes: maxBodyBytes } = this.#options;
    const at = { path: "/acp/**", service: AGENTS_SERVICE, refusalHeaders, maxBodyBytes };
    const renewal = { path: "/acp/*/*/token", service: "relay.tokens", refusalHeaders };
    return {
      routes: [
        { ...renewal, methods: ["POST"], handle: (request, call) => this.#renew(request, call) },
        { ...at, methods: ["GET", "POST"], handle: (request, call) => this.#plain(request, call) },
      ],
      upgrades: [{ ...at, handle: (upgrade, call) => this.#answer(upgrade, call) }],
    };
  }

  /** Serves an agent without WebSocket: a stream of events to the agent, and a POST for each of its frames. */
  async #plain(request: Request, call: CallContext): Promise<Response> {
    const place = upgradePlaceOf(call.values);
    const isStream = request.method === "GET" && request.headers.get("accept")?.includes(EVENTS) === true;
    const id = request.headers.get(CONNECTION_ID);
    if (isRefused(place) || (!isStream && id === null)) {
      if (isRefused(place)) countRefusal(this.#deps, place.status, place.reason);
      return needsUpgrade(call.values);
    }
    if (request.method === "GET") return await this.#stream(place, call);
    const stream = this.#streams.get(id ?? "");
    if (stream === undefined || !isSamePlace(stream.place, place)) throw notOpen();
    const frame = await requestBody(request);
    if (frame === undefined) {
      stream.channel.close(FRAME_TOO_LARGE, "a frame is too large");
      return new Response(null, { status: 413 });
    }
    if (!(await stream.channel.came(new TextDecoder().decode(frame)))) throw notOpen();
    return new Response(null, { status: 202 });
  }

  async #stream(place: UpgradePlace, call: CallContext): Promise<Response> {
    const connectionId = randomUUID();
    const admitted = await this.#admit(place, connectionId, call);
    const channel = new EventStreamChannel(this.#deps, this.#rates.of(place));
    this.#deps.metrics.connectionsTotal.inc({ outcome: "open" });
    this.#streams.set(connectionId, { place, channel });
    channel.ended.addEventListener("abort", () => this.#streams.delete(connectionId), { once: true });
    // The request's own signal is no longer aborted once the request is collected.
    const { signal } = call;
    const cut = () => {
      if (!isRelaysEnd(signal.reason)) channel.cut(1006, "cut");
    };
    if (signal.aborted) cut();
    else signal.addEventListener("abort", cut, { once: true });
    const alive = channel.keepAlive(this.#options.pingIntervalMs);
    this.#begin({ place, connectionId, call }, admitted, channel, alive);
    const headers = { "content-type": EVENTS, "cache-control": "no-store", [CONNECTION_ID]: connectionId };
    return new Response(channel.body, { headers });
  }

  #begin(arrival: Arrival, admitted: Admitted, channel: FrameChannel, alive: Promise<void>): void {
    const served = this.#serve(arrival, admitted, channel, alive);
    this.#serving.add(served);
    void served.finally(() => this.#serving.delete(served));
  }

  async #answer({ req, take }: Upgrade, call: CallContext): Promise<Response | undefined> {
    const { metrics } = this.#deps;
    const place = upgradePlaceOf(call.values);
    if (isRefused(place)) {
      countRefusal(this.#deps, place.status, place.reason);
      return needsUpgrade(call.values);
    }
    const connectionId = randomUUID();
    const admitted = await this.#admit(place, connectionId, call);
    this.#answers.set(req, { subprotocol: place.subprotocol, connectionId });
    const { socket, head } = take();
    const gone = () => void admitted.abandon().catch(() => {});
    if (socket.destroyed) return void gone();
    socket.once("close", gone);
    this.#sockets.handleUpgrade(req, socket, head, (webSocket) => {
      socket.off("close", gone);
      metrics.connectionsTotal.inc({ outcome: "open" });
      const channel = new WebSocketChannel(this.#deps, webSocket, this.#rates.of(place));
      const alive = channel.keepAlive(this.#options);
      this.#begin({ place, connectionId, call }, admitted, channel, alive);
    });
    return undefined;
  }

  /** Resolves when no connection is open. */
  async idle(): Promise<void> {
    while (this.#serving.size > 0) await Promise.all(this.#serving);
  }

  /** @throws DomainError `already-exists` if another agent holds the lane; `exhausted`; `unavailable` */
  async #admit(place: UpgradePlace, connectionId: string, call: CallContext): Promise<Admitted> {
    const { lane, agentId, dialect } = place;
    try {
      this.#arrivals.take(lane.sessionId, lane.role, agentId);
      const who = { lane, agentId, connectionId, dialect };
      const admitted = await this.#claims.hold(() => this.#deps.lanes.admit(who), this.#deps.ended);
      this.#deps.audit?.policy(call, subjectOf(place), undefined);
      return admitted;
    } catch (err) {
      const refusal = this.#refusalOf(err);
      this.#deps.audit?.policy(call, subjectOf(place), refusal);
      countRefusal(this.#deps, STATUS[refusal.kind] ?? 503, refusal.message);
      throw refusal;
    }
  }

  #refusalOf(err: unknown): DomainError {
    if (err instanceof DomainError) {
      return err.kind in STATUS ? err : new DomainError("unavailable", err.message, { cause: err });
    }
    this.#deps.logger.error({ action: "admission_failed", err }, "an agent could not be admitted");
    return new DomainError("unavailable", "internal error", { cause: err });
  }

  #renew(request: Request, call: CallContext): Response {
    const connectionId = request.headers.get(CONNECTION_ID) ?? "";
    const open = this.#open.get(connectionId);
    try {
      const { connection, token } = renewalOf(request.url, call.values.get(tokenKey), open);
      this.#deps.renew(connection, token);
      this.#deps.logger.info({ action: "token_renewed", connection_id: connectionId }, "a connection lasts longer");
      return new Response(null, { status: 204 });
    } catch (err) {
      if (err instanceof DomainError) this.#deps.audit?.policy(call, {}, err);
      throw err;
    }
  }

  async #serve(
    { place, connectionId, call }: Arrival,
    admitted: Admitted,
    channel: FrameChannel,
    alive: Promise<void>,
  ): Promise<void> {
    const { lane, agentId } = place;
    const { signal: over, values } = call;
    const { clock, logger, metrics, events } = this.#deps;
    this.#open.set(connectionId, { place, connection: values.get(peerKey), token: values.get(tokenKey) });
    holdWhileFull(this.#deps.outbox, channel);
    const names = { session_id: lane.sessionId, agent_id: agentId, role: lane.role };
    const began = clock.monotonicMs();
    metrics.connections.inc({ dialect: place.dialect, role: "agent" });
    logger.info({ action: "agent_connected", ...names, dialect: place.dialect }, "an agent is connected");
    events.publish(lane.sessionId, "agent.connected", { agent_id: agentId, role: lane.role, dialect: place.dialect });
    // A call also ends because its socket closed; the channel then already knows the close code.
    const leave = () => {
      if (isRelaysEnd(over.reason)) channel.close(...farewell(over.reason));
    };
    if (over.aborted) leave();
    else over.addEventListener("abort", leave, { once: true, signal: channel.ended });
    try {
      await admitted.serve(makeLink(this.#deps, this.#options, place, connectionId, channel));
    } catch (err) {
      logger.error({ action: "serving_failed", ...names, err }, "a connection failed");
      channel.close(1011, "internal error");
    }
    await aborted(channel.ended);
    await alive;
    this.#open.delete(connectionId);
    const { code, why } = channel.ended.reason as ChannelEnd;
    metrics.connections.dec({ dialect: place.dialect, role: "agent" });
    metrics.disconnects.inc({ reason: reasonLabel(code) });
    metrics.connectionSeconds.observe((clock.monotonicMs() - began) / 1000);
    logger.info({ action: "agent_disconnected", ...names, reason: why, code }, "an agent is gone");
    events.publish(lane.sessionId, "agent.disconnected", { agent_id: agentId, role: lane.role, reason: why, code });
  }
}

/** True if the relay ends a call for this reason; false: the caller has left. */
function isRelaysEnd(reason: unknown): boolean {
  return reason instanceof DomainError && reason.kind !== "cancelled";
}

interface Arrival {
  readonly place: UpgradePlace;
  readonly connectionId: string;
  /** The call's signal is aborted when the caller must leave. */
  readonly call: CallContext;
}

interface OpenStream {
  readonly place: UpgradePlace;
  readonly channel: EventStreamChannel;
}

function isSamePlace(open: UpgradePlace | undefined, { lane, agentId }: UpgradePlace): boolean {
  return open?.agentId === agentId && laneKey(open.lane) === laneKey(lane);
}

/** Values that a 101 adds to those of the handshake. */
interface Named {
  readonly subprotocol: string | undefined;
  readonly connectionId: string;
}

function notOpen(): DomainError {
  return new DomainError("not-found", "no such connection of this agent is open here");
}

const CONNECTION_ID = "acp-connection-id";
const EVENTS = "text/event-stream";
/** The statuses of failed admissions; all others are 503. */
const STATUS: Readonly<Record<string, number>> = { "already-exists": 409, exhausted: 429 };

function subjectOf({ lane, agentId }: UpgradePlace) {
  return { session: lane.sessionId, agent: { id: agentId, role: lane.role } };
}

/** The response to a request that is not an upgrade, or that asks for an unknown dialect. */
function needsUpgrade(values: CallContext["values"]): Response {
  const place = upgradePlaceOf(values);
  const reason = isRefused(place) ? place.reason : "connect with WebSocket, or with GET and Accept: text/event-stream";
  const headers = { "content-type": "text/plain; charset=utf-8", upgrade: "websocket" };
  return new Response(`${reason}\n`, { status: 426, headers });
}

function refusalHeaders({ kind }: DomainError): Readonly<Record<string, string>> {
  if (kind === "unauthenticated") return { "www-authenticate": "Bearer" };
  return kind === "exhausted" || kind === "unavailable" ? { "retry-after": "1" } : {};
}

const REASONS: ReadonlyMap<number, string> = new Map([
  [1000, "normal"],
  [1001, "away"],
  [1003, "binary"],
  [1006, "cut"],
  [FRAME_TOO_LARGE, "too_large"],
  [4001, "superseded"],
  [4400, "invalid_frames"],
  [4401, "unauthenticated"],
  [4403, "denied"],
  [4408, "no_pong"],
  [4429, "rate_limited"],
]);

function reasonLabel(code: number): string {
  return REASONS.get(code) ?? "other";
}
