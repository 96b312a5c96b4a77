import { basename } from "node:path";
import type { AgentProfile } from "../../agents/profile.ts";
import { profileNamed } from "../../agents/programs/registry.ts";
import { type RoleRule, roleOf } from "../../auth/roles.ts";
import { type TlsInUse, tlsInUse } from "../../auth/tls-in-use.ts";
import type { TokenLayerOptions } from "../../auth/token-layer.ts";
import { aborted, raceSignal } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import { MachineTime } from "../../base/machine-time.ts";
import { presentBoot } from "../../base/present-boot.ts";
import { runTasks, type Task } from "../../base/task-group.ts";
import type { Journal } from "../../eventlog/journal.ts";
import { SidecarService } from "../../gen/gastown/v1/sidecar_pb.ts";
import { TerminalService } from "../../gen/gastown/v1/terminal_pb.ts";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import type { ListenAddress } from "../../rpc/port/listen.ts";
import type { Routes } from "../../rpc/server/adapter.ts";
import { type HealthState, healthRoutes } from "../../rpc/server/health.ts";
import { createHealthServer } from "../../rpc/server/health-http.ts";
import type { HostCheck } from "../../rpc/server/host-check.ts";
import type { Metrics } from "../../rpc/server/metrics.ts";
import { reflectionRoutes } from "../../rpc/server/reflection.ts";
import { RpcServer, type RpcServerOptions } from "../../rpc/server/server.ts";
import type { NudgeReceipt } from "../../session/types.ts";
import { CommandClient } from "../../tmux/control/command-client.ts";
import type { TmuxPane } from "../../tmux/pane/pane.ts";
import { AgentFileReader } from "../agent/agent-file.ts";
import { Boundary } from "../agent/boundary.ts";
import { clientStreams } from "../agent/client-stream.ts";
import { HookReader } from "../agent/hook-reader.ts";
import { ofAgent, openJournal, type Restored, type SidecarRecord } from "../agent/journal-records.ts";
import { LiveAgent } from "../agent/live-agent.ts";
import { type LifeListener, SessionMonitor, type SessionMonitorOptions } from "../agent/monitor.ts";
import { Operator } from "../agent/operator.ts";
import { OutputReader } from "../agent/output-reader.ts";
import type { StopRequest } from "../agent/stop-request.ts";
import { takeCapture } from "../agent/take-capture.ts";
import { typeText } from "../agent/type-text.ts";
import { WorkWatch } from "../agent/work-watch.ts";
import { ControlClient } from "../halves/halves-link-client.ts";
import { agentCommand, launchContext, SESSION, type SidecarOptions } from "../halves/options.ts";
import { openStateFolder, type StateFolder } from "../halves/state-folder.ts";
import { isOpenToAll, roleGate } from "./access.ts";
import { FirstLook } from "./first-look.ts";
import { type ServiceDeps, sidecarRoutes } from "./server.ts";
import { SidecarMetrics } from "./sidecar-metrics.ts";
import { TlsServing, type TlsServingDeps } from "./tls-serving.ts";

export interface ServeDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly health: HealthState;
  readonly metrics: Metrics;
  /** Called once with the address of the RPC listener. */
  readonly onListening: (address: ListenAddress) => Promise<void>;
}

export interface ServeOptions {
  readonly sidecar: SidecarOptions;
  /** The other half runs in a container of its own, because the agent is not trusted. */
  readonly isApart: boolean;
  /** A unix socket is served in plaintext, and its peers name the persons they speak for. */
  readonly listen: ListenAddress;
  readonly healthListen: ListenAddress;
  /** Folder with certificate, key and CA; without it plaintext is served. */
  readonly tlsDir?: string;
  /** Who may do what over TLS; without them the controllers of the certificate's trust domain everything. */
  readonly roleRules?: readonly RoleRule[];
  /** Tokens that give roles over TLS, beside the rules. */
  readonly tokens?: Pick<TokenLayerOptions, "keyFiles" | "audience">;
  readonly hostCheck: HostCheck;
  /** Of the programs of this half, by name. */
  readonly versions: Readonly<Record<string, string>>;
}

/** What is there before anything is known of the agent. */
interface Ground {
  readonly state: StateFolder;
  readonly control: ControlClient;
  readonly counters: SidecarMetrics;
  readonly boundary: Boundary;
}

/** What the parts of one run share. */
interface Parts extends Ground {
  readonly profile: AgentProfile;
  readonly client: CommandClient;
  readonly restored: Restored;
}

/** How long the supervising half is waited for at the start: it tells whose journal this is. */
const HELLO_MS = 2000;

/**
 * The serving half: RPC, state, messages. It may die at any instant; the next one goes on from tmux, the journal and the
 * hook FIFO. Stops with the signal: no new calls, streams end with a reason, a delivery under way is left to the next one.
 */
export class ServingHalf implements Task {
  readonly #deps: ServeDeps;
  readonly #options: ServeOptions;
  readonly #listening = Promise.withResolvers<void>();
  readonly #firstLook: FirstLook;

  constructor(deps: ServeDeps, options: ServeOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#firstLook = new FirstLook(deps.clock);
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, metrics } = this.#deps;
    const counters = new SidecarMetrics(metrics.registry);
    const boundary = new Boundary({ logger, count: (violation) => counters.violated(violation) });
    using state = openStateFolder(this.#options.sidecar.stateDir, {
      strict: this.#options.isApart,
      onOdd: (oddity) => boundary.note(oddity),
    });
    const control = new ControlClient({
      clock,
      connect: () => state.connect("control"),
      onForeign: () => boundary.note("peer"),
    });
    const run = (stop: AbortSignal) => this.#serve({ state, control, counters, boundary }, stop);
    await runTasks(signal, [control, { run }]);
  }

  async #serve({ state, control, counters, boundary }: Ground, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const { sidecar } = this.#options;
    const hello = await control.greeted(HELLO_MS, signal);
    const { journal, restored: held, damaged, replaced } = openJournal(state.journal);
    const restored = ofAgent(held, hello?.agentId, clock.now());
    if (replaced) logger.error("the journal was no file of ours: earlier receipts are lost");
    if (damaged > 0) logger.error({ records: damaged }, "the journal is damaged: these records are lost");
    const open = clientStreams(() => state.connect("clients"));
    const client = new CommandClient({ clock, logger }, { open, onForeign: () => boundary.note("stream") });
    const parts = { state, profile: profileNamed(sidecar.agent), client, control, counters, boundary, restored };

    const agent: LiveAgent = this.#liveAgent(parts, journal, () => monitor);
    const output = new OutputReader({ clock, agent }, { folder: state.captures, env: sidecar.env });
    const monitor: SessionMonitor = this.#sessionMonitor(parts, agent, output, signal);
    counters.observe(agent, { ...sidecar.identity, provider: sidecar.agent });
    const healthServer = this.#healthServer();
    Promise.all([this.#listening.promise, healthServer.listening]).then(
      () => control.serving(),
      () => {}, // a server that cannot listen ends this half, and says why
    );
    await runTasks(signal, [
      client,
      monitor,
      output,
      ...this.#readers(parts, agent, monitor),
      agent.monitor,
      agent.mailbox,
      agent.people,
      agent.events,
      agent.recorder,
      { run: (stop) => this.#endStreams(agent, stop) },
      this.#rpcServer(parts.profile, agent, () => monitor.pane),
      healthServer,
    ]);
    agent.leave();
    journal.close();
  }

  #liveAgent(parts: Parts, journal: Journal<SidecarRecord>, monitor: () => SessionMonitor): LiveAgent {
    const { clock, logger } = this.#deps;
    const { sidecar, versions } = this.#options;
    const onReceipt = (receipt: NudgeReceipt) => {
      parts.counters.ended(receipt);
      const { requestId, outcome, sender } = receipt;
      logger.info({ request_id: requestId, outcome, sender }, "nudge ended");
    };
    const life = () => monitor().life;
    const pane = () => monitor().pane;
    const onStop = (request: StopRequest) => parts.control.stop(request);
    const allVersions = () => {
      const { hello } = parts.control;
      const { tmux, agent } = hello ?? {};
      return { ...versions, ...(tmux !== undefined && { tmux }), ...(agent !== undefined && { agent }) };
    };
    const deps = {
      clock,
      time: new MachineTime(clock, presentBoot()),
      logger,
      profile: parts.profile,
      journal,
      life,
      pane,
      onReceipt,
      onStop,
      versions: allVersions,
    };
    return new LiveAgent(deps, sidecar, parts.restored);
  }

  #sessionMonitor(parts: Parts, agent: LiveAgent, output: OutputReader, signal: AbortSignal): SessionMonitor {
    const { state, profile, client, control, boundary, restored } = parts;
    const { clock, logger, health } = this.#deps;
    const { sidecar } = this.#options;
    let isPiped = false;
    const setReady = (able: boolean) => {
      void this.#listening.promise.then(() => {
        for (const service of ["", SidecarService.typeName]) health.set(service, able && agent.isAlive);
      });
    };
    const listener: LifeListener = {
      alive: (life) => {
        agent.alive(life);
        this.#firstLook.done();
        setReady(isPiped);
      },
      sized: (size) => agent.sized(size),
      arm: async (pane) => {
        await output.arm(pane);
        isPiped = true;
        setReady(true);
      },
      renewed: () => agent.output.renew(),
      lastOutputAt: () => agent.output.lastOutputAt,
      diverted: () => boundary.note("pipe"),
      dead: (end) => {
        agent.dead(end);
        this.#firstLook.done();
        setReady(false);
      },
      finished: (exitCode) => void this.#finish(control, agent, exitCode, signal),
    };
    const plan = profile.launch(launchContext(sidecar));
    const options: SessionMonitorOptions = {
      session: SESSION,
      captures: { dir: state.captures.path, take: takeCapture(state.captures, boundary) },
      agent: agentCommand(sidecar, plan),
      restart: sidecar.restart,
      stopAsked: agent.stopper.asked,
      ...(restored.agent === undefined ? {} : { before: restored.agent }),
    };
    const agentId = () => control.hello?.agentId;
    return new SessionMonitor({ clock, logger, client, help: control, listener, agentId }, options);
  }

  /** What the agent says about itself. */
  #readers({ state, profile, control }: Parts, agent: LiveAgent, monitor: SessionMonitor): readonly Task[] {
    const { clock, logger } = this.#deps;
    const { home, stallAfterMs } = this.#options.sidecar;
    const pid = () => (monitor.life.alive ? monitor.life.pid : undefined);
    const facts = (agentPid: number) => control.process(agentPid, { work: false });
    const work = async () => {
      const agentPid = pid();
      return agentPid === undefined ? undefined : (await control.process(agentPid, { work: true }))?.work;
    };
    const hookFiles = { folder: state.folder, fifo: basename(state.paths.hookFifo), payloads: state.hooks };
    return [
      new HookReader({ clock, logger, profile, onEvent: agent.heard.bind(agent) }, hookFiles),
      new AgentFileReader(
        { clock, profile, pid, process: facts, onState: agent.read.bind(agent) },
        { home, strict: this.#options.isApart },
      ),
      new WorkWatch({ clock, monitor: agent.monitor, sample: work }, { stallAfterMs }),
    ];
  }

  #rpcServer(profile: AgentProfile, agent: LiveAgent, pane: () => TmuxPane | undefined): Task {
    const { clock, logger, metrics, health } = this.#deps;
    const { sidecar, tlsDir, roleRules, tokens, hostCheck } = this.#options;
    const serviceFor = (rules: readonly RoleRule[], inUse: () => TlsInUse) =>
      this.#service(profile, agent, pane, { roleRules: rules, tlsInUse: inUse });
    if (tlsDir === undefined)
      return this.#listen(
        serviceFor([], () => tlsInUse(undefined)),
        this.#options.listen.path === undefined
          ? { hostCheck }
          : { hostCheck: { ...hostCheck, anyHost: true }, believes: ({ type }) => type === "local" },
      );
    const { sessionId, project } = sidecar.identity;
    const given = {
      ...{ dir: tlsDir, sessionId },
      ...(roleRules && { roleRules }),
      ...(tokens && { tokens: { ...tokens, project } }),
    };
    const newServer: TlsServingDeps["newServer"] = (trust, rules, inUse) =>
      this.#listen(serviceFor(rules, inUse), {
        ...trust,
        hostCheck: { ...hostCheck, anyHost: true },
        gates: [...trust.gates, roleGate(rules)],
        hasRole: (peer) => peer.type === "certificate" && roleOf(peer.uris, rules) !== undefined,
        isOpenToAll,
      });
    return new TlsServing({ clock, logger, health, registry: metrics.registry, newServer }, given);
  }

  #service(
    profile: AgentProfile,
    agent: LiveAgent,
    pane: () => TmuxPane | undefined,
    trust: Pick<ServiceDeps, "roleRules" | "tlsInUse">,
  ): Routes {
    const { clock } = this.#deps;
    const { sidecar } = this.#options;
    const { mailbox, output: source } = agent;
    const alive = () => agent.status().alive;
    return sidecarRoutes({
      clock,
      agent,
      operator: new Operator({
        clock,
        mailbox,
        source,
        profile,
        pane,
        alive,
        answered: () => agent.monitor.answered(),
      }),
      identity: sidecar.identity,
      provider: sidecar.agent,
      ...trust,
      typeText: (text) =>
        typeText(
          { mailbox, pane, clean: (each) => agent.clean(each), situation: (signal) => agent.situation(signal) },
          text,
        ),
    });
  }

  #listen(
    service: Routes,
    {
      gates = [],
      ...trust
    }: Pick<RpcServerOptions, "tls" | "admit" | "gates" | "hostCheck" | "hasRole" | "isOpenToAll" | "believes">,
  ): RpcServer {
    const { clock, logger, health, metrics } = this.#deps;
    const server = new RpcServer(
      { clock, logger, health, metrics },
      {
        ...this.#options.listen,
        ...trust,
        gates: [...gates, this.#firstLook.gate],
        routes: (router) => {
          service(router);
          healthRoutes(health)(router);
          reflectionRoutes([SidecarService, TerminalService, Health])(router);
        },
        graceMs: 1000,
      },
    );
    const listening = server.listening.then((address) => this.#deps.onListening(address));
    listening.then(this.#listening.resolve, () => {});
    return server;
  }

  #healthServer(): RpcServer {
    const { clock, logger, health, metrics } = this.#deps;
    const server = createHealthServer(
      { clock, logger, health, metrics },
      { ...this.#options.healthListen, hostCheck: this.#options.hostCheck },
    );
    server.listening
      .then(({ host, port }) => logger.info({ listen: `${host}:${port}` }, "health served"))
      .catch(() => {});
    return server;
  }

  async #endStreams(agent: LiveAgent, signal: AbortSignal): Promise<void> {
    await aborted(signal);
    agent.end("the sidecar is shutting down");
    agent.events.end("the sidecar is shutting down");
  }

  /** Serves on for the linger time, then tells the supervising half to leave. */
  async #finish(control: ControlClient, agent: LiveAgent, exitCode: number, signal: AbortSignal): Promise<void> {
    await raceSignal(agent.recorder.over, signal).catch(() => {});
    await this.#deps.clock.sleep(this.#options.sidecar.lingerMs, signal).catch(() => {});
    if (!signal.aborted) control.finish(exitCode);
  }
}
