import { randomUUID } from "node:crypto";
import { AuditLog } from "../../internal/auth/audit-log.ts";
import { TrustedServer } from "../../internal/auth/serving/trusted-server.ts";
import { aborted, withTimeout } from "../../internal/base/abort.ts";
import type { Clock } from "../../internal/base/clock.ts";
import type { Environment } from "../../internal/base/environment.ts";
import { DomainError } from "../../internal/base/errors.ts";
import type { Logger } from "../../internal/base/logger.ts";
import { Slots } from "../../internal/base/slots.ts";
import { runTasks, type Task } from "../../internal/base/task-group.ts";
import type { Tracer } from "../../internal/base/tracing.ts";
import { version } from "../../internal/cli/version.ts";
import { DaemonFrame } from "../../internal/daemon/daemon-frame.ts";
import { auditLines } from "../../internal/files/audit-lines.ts";
import { readAgentClaims } from "../../internal/relay/door/agent-claims.ts";
import { AgentDoor } from "../../internal/relay/door/agent-door.ts";
import { agentGate, alsoShown } from "../../internal/relay/door/agent-gate.ts";
import { FrontDoor } from "../../internal/relay/front/front-door.ts";
import { frontGate } from "../../internal/relay/front/front-gate.ts";
import { answerInstanceCalls } from "../../internal/relay/lanes/instance-calls.ts";
import type { Claimant } from "../../internal/relay/lanes/lane-claim.ts";
import { LaneControl } from "../../internal/relay/lanes/lane-control.ts";
import type { LaneDeps, TurnPoint } from "../../internal/relay/lanes/lane-deps.ts";
import { Lanes } from "../../internal/relay/lanes/lanes.ts";
import { Permissions } from "../../internal/relay/lanes/permissions.ts";
import { Registry } from "../../internal/relay/lanes/registry.ts";
import { RelayEvents } from "../../internal/relay/lanes/relay-events.ts";
import { RelayMetrics } from "../../internal/relay/lanes/relay-metrics.ts";
import { ServedRoles } from "../../internal/relay/lanes/served-roles.ts";
import { UnservedLanes } from "../../internal/relay/lanes/unserved-lanes.ts";
import { Bus } from "../../internal/relay/nats/bus.ts";
import { checkPublishing } from "../../internal/relay/nats/check-publishing.ts";
import { type Created, ensureStreams } from "../../internal/relay/nats/ensure-streams.ts";
import { LossyPublisher } from "../../internal/relay/nats/lossy-publisher.ts";
import { Outbox } from "../../internal/relay/nats/outbox.ts";
import { ProgressRings } from "../../internal/relay/nats/progress-rings.ts";
import type { LaneName } from "../../internal/relay/nats/subjects.ts";
import { AgentServices } from "../../internal/relay/services/agent-services.ts";
import type { PlainOptions } from "../../internal/rpc/routes/route.ts";
import type { CallContext } from "../../internal/rpc/server/call-facts.ts";
import { bridgeRoles } from "./bridge/bridge-roles.ts";
import { natsAuth } from "./nats-auth.ts";
import { laneOptionsOf, roleSettingsOf, samplingOf } from "./role-options.ts";
import type { RelaySettings } from "./settings.ts";
import { stdioRoles } from "./stdio-roles.ts";
import { StreamsWatch } from "./streams-watch.ts";

export interface DaemonDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The environment of this process; children get a part of it. */
  readonly env: Environment;
  readonly tracer: Tracer;
}

const FIRST_MS = 30_000;
/** The maximum number of control messages that are answered concurrently. */
const CONTROL_AT_ONCE = 32;
/** The longest wait for the outbox to empty after the drain. */
const FLUSH_MS = 5000;
/** The grace period for remaining connections after everything else has ended. */
const CLOSE_MS = 2000;

/**
 * Runs the relay. When it is asked to stop, it pulls no more work, waits for open turns to end, gives the rest back at
 * the drain's deadline, and closes the agents' connections.
 */
export class Daemon implements Task {
  readonly #deps: DaemonDeps;
  readonly #settings: RelaySettings;
  readonly #instance = randomUUID();
  #handedBack = 0;

  constructor(deps: DaemonDeps, settings: RelaySettings) {
    this.#deps = deps;
    this.#settings = settings;
  }

  /** The number of turns that were open at the drain's deadline. */
  get handedBack(): number {
    return this.#handedBack;
  }

  /**
   * @throws DomainError `unavailable` if NATS cannot be reached; `denied` if NATS refuses the credentials or a call;
   * `precondition` if a stream exists with other settings; `unavailable` with `reason` = `listen` if the relay cannot
   * listen on an address
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const { nats, relayId, signing } = this.#settings;
    const { url, streamPrefix, credentials } = nats;
    const common = { url, name: relayId, streamPrefix, firstMs: FIRST_MS, signer: signing.signer };
    const options = { ...common, auth: natsAuth(url, credentials) };
    const bus = await Bus.open(clock, options, signal);
    try {
      const created = await ensureStreams(bus.jsm, bus.streams, nats.replicas);
      await checkPublishing(bus);
      logger.info({ action: "nats_connected", server: bus.nc.info?.version }, "connected to NATS");
      await this.#serve(bus, created, signal);
    } finally {
      await bus.nc.close();
    }
  }

  async #serve(bus: Bus, created: Created, signal: AbortSignal): Promise<void> {
    const { clock, logger, tracer } = this.#deps;
    const { nats, relayId } = this.#settings;
    const { healthListen, allowHosts } = this.#settings;
    const frame = new DaemonFrame(
      { clock, logger },
      { healthListen, hostCheck: { allowHosts }, toldWith: { action: "health_served" } },
    );
    const metrics = new RelayMetrics(frame.metrics.registry);
    const outbox = new Outbox({ bus, clock, logger }, nats.outboxBytes);
    const lossy = new LossyPublisher(bus, outbox);
    const events = new RelayEvents(outbox, randomUUID);
    const registry = new Registry();
    const [ended, closing] = [new AbortController(), new AbortController()];
    const { signers } = this.#settings.signing;
    const rings = new ProgressRings();
    const sending = { bus, outbox, lossy, rings, events, metrics, signers };
    const laneDeps = { clock, logger, tracer, ...sending, instance: this.#instance, reached: this.#reached() };
    const laneOptions = laneOptionsOf(this.#settings);
    const services = this.#services(laneDeps);
    const onServed = services && ((who: Claimant) => services.opened(who));
    const lanes = new Lanes(laneDeps, laneOptions, registry, { draining: signal, ended: ended.signal, onServed });
    const unserved = new UnservedLanes(laneDeps, laneOptions, (lane) => registry.byLane(lane) !== undefined);
    const control = new LaneControl({ ...laneDeps, lanes, unserved, slots: new Slots(CONTROL_AT_ONCE) }, laneOptions);
    metrics.observe({
      turnsOpen: () => lanes.turnsOpen,
      lanesHeld: () => lanes.held,
      outboxMessages: () => outbox.messages,
      outboxBytes: () => outbox.bytes,
      natsConnected: () => bus.isConnected,
    });
    const { health } = frame;
    const streams = new StreamsWatch(
      { ...this.#deps, bus, health, metrics, onStoreLost: () => lanes.storeLost() },
      { created, replicas: nats.replicas },
    );
    const status = () => ({
      ...{ relay_id: relayId, instance: this.#instance, turns_open: lanes.turnsOpen },
      connections: registry.all().map((entry) => entry.facts()),
    });
    const controlHere = (lane: LaneName, text: string) => control.answerHere(lane, text, closing.signal);
    const calls = { bus, clock, logger, registry, instance: this.#instance, status, control: controlHere, rings };
    const permissions = this.#permissions(laneDeps);
    const audit = this.#audit();
    const trusted = { audit, renew: (...renewed: Renewed) => server.renew(...renewed) };
    const doorDeps = { clock, logger, ...sending, ...trusted, lanes, permissions, ended: signal };
    const door = new AgentDoor(doorDeps, this.#doorOptions());
    const front = new FrontDoor({ bus, clock, logger, metrics }, this.#doorOptions());
    const bridged = bridgeRoles({ ...laneDeps, permissions }, this.#settings);
    const roles = stdioRoles({ ...laneDeps, permissions, env: this.#deps.env }, this.#settings);
    const served = new ServedRoles(laneDeps, lanes, [...roles, ...bridged.roles]);
    const server: TrustedServer = this.#server({ frame, door, front, metrics, audit }, signal);
    frame.drainsWith(signal);
    const drain = async (stop: AbortSignal) => {
      await aborted(stop);
      await this.#drain(lanes, ended);
      await Promise.all([door.idle(), served.idle()]);
      await Promise.all([this.#flush(outbox), bridged.close(), services?.close()]);
      closing.abort();
    };
    await runTasks(signal, [
      { run: (stop) => this.#announce(server, frame, stop) },
      { run: drain },
      served,
      // Agents stay connected until their turns have ended; then their connections close with 1001.
      { run: () => runTasks(closing.signal, [server, front, frame, asTask(bus, logger), outbox]) },
      { run: () => answerInstanceCalls(calls, closing.signal) },
      { run: () => permissions.run(closing.signal) },
      { run: () => streams.run(closing.signal) },
      { run: () => control.run(closing.signal) },
      { run: (stop) => unserved.run(stop) },
      ...(services === undefined ? [] : [{ run: () => services.run(closing.signal) }]),
    ]);
  }

  async #announce(server: TrustedServer, frame: DaemonFrame, signal: AbortSignal): Promise<void> {
    const at = await frame.served(server, { action: "serving", instance: this.#instance });
    if (at !== undefined) frame.ready();
    await aborted(signal);
  }

  #audit(): AuditLog | undefined {
    const { audit } = this.#settings.trust;
    if (audit === "none") return undefined;
    const path = audit === "stderr" ? undefined : audit.path;
    return new AuditLog({ clock: this.#deps.clock, write: auditLines(path, this.#deps) });
  }

  /** Serves both doors. Agents may connect until the relay is asked to stop. */
  #server({ frame, door, front, metrics: counted, audit }: ServerParts, draining: AbortSignal): TrustedServer {
    const { listen, allowHosts, trust, dialects } = this.#settings;
    const { health, metrics } = frame;
    const { tls, auth } = trust;
    const gate = agentGate({ ...this.#deps, metrics: counted }, dialects);
    const isOpen = ({ requestHeader }: CallContext) => {
      // Requests of an open connection continue during the drain.
      if (draining.aborted && !requestHeader.has("acp-connection-id"))
        throw new DomainError("unavailable", "the relay is shutting down");
    };
    return new TrustedServer(
      { ...this.#deps, health, metrics, audit },
      {
        ...{ listen, tls, services: [], plain: both(door.plain, front.plain) },
        tokens: auth && { ...auth, required: true, freeServices: new Set(), readClaims: readAgentClaims, alsoShown },
        hostCheck: { allowHosts, anyHost: tls !== undefined },
        rules: () => ({ routes: () => {}, gates: [isOpen, gate, frontGate] }),
        graceMs: CLOSE_MS,
      },
    );
  }

  async #drain(lanes: Lanes, ended: AbortController): Promise<void> {
    const { clock, logger } = this.#deps;
    const { drain_timeout: drainTimeoutMs } = this.#settings.turns;
    await withTimeout(clock, drainTimeoutMs, "the drain", lanes.idle()).catch(() => {
      this.#handedBack = lanes.turnsOpen;
      logger.warn({ action: "handed_back", turns: lanes.turnsOpen }, "turns are given back");
    });
    ended.abort(new Error("the relay has drained"));
    await lanes.idle();
  }

  async #flush(outbox: Outbox): Promise<void> {
    const { clock, logger } = this.#deps;
    const late = new AbortController();
    await withTimeout(clock, FLUSH_MS, "flushing events", outbox.flushed(late.signal)).catch(() => {
      late.abort();
      logger.error({ action: "events_lost", messages: outbox.messages }, "events could not be stored");
    });
  }

  #services(deps: LaneDeps): AgentServices | undefined {
    const { agentsProtocol, maxMessageBytes, turns } = this.#settings;
    const longestMs = turns.work_ttl + turns.deadline;
    return agentsProtocol ? new AgentServices(deps, { version, maxMessageBytes, longestMs }) : undefined;
  }

  #permissions(deps: LaneDeps): Permissions {
    const { permission: mode, permission_timeout: timeoutMs } = this.#settings.turns;
    return new Permissions(deps, { mode, timeoutMs }, randomUUID);
  }

  #doorOptions() {
    const { relayId, maxMessageBytes, pingIntervalMs, pongTimeoutMs, turns } = this.#settings;
    return {
      ...{ relayId, maxMessageBytes, pingIntervalMs, pongTimeoutMs },
      settingsOf: (role: string) => samplingOf(roleSettingsOf(this.#settings, role)),
      cwdOf: (role: string) => roleSettingsOf(this.#settings, role)?.repo_path ?? "/",
      createTimeoutMs: turns.create_timeout,
    };
  }

  #reached(): (point: TurnPoint) => void {
    const { crashAt } = this.#settings;
    return (point) => {
      if (point === crashAt) process.kill(process.pid, "SIGKILL");
    };
  }
}

type Renewed = Parameters<TrustedServer["renew"]>;

interface ServerParts {
  readonly frame: DaemonFrame;
  readonly door: AgentDoor;
  readonly front: FrontDoor;
  readonly metrics: RelayMetrics;
  readonly audit: AuditLog | undefined;
}

function both(one: PlainOptions, other: PlainOptions): PlainOptions {
  return {
    routes: [...(one.routes ?? []), ...(other.routes ?? [])],
    upgrades: [...(one.upgrades ?? []), ...(other.upgrades ?? [])],
  };
}

function asTask(bus: Bus, logger: Logger): Task {
  return { run: (signal) => bus.run(logger, signal) };
}
