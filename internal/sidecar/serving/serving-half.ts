import type { AuditLog } from "../../auth/audit-log.ts";
import { controllerRule, type RoleRule } from "../../auth/roles.ts";
import { TrustedServer } from "../../auth/serving/trusted-server.ts";
import { identitiesOf } from "../../auth/tls/identities.ts";
import type { TlsFolderOptions } from "../../auth/tls/tls-folder.ts";
import { tlsInUse } from "../../auth/tls/tls-in-use.ts";
import type { TokenLayerOptions } from "../../auth/token-layer.ts";
import { aborted, raceSignal } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import { runTasks, type Task } from "../../base/task-group.ts";
import { DaemonFrame } from "../../daemon/daemon-frame.ts";
import { SidecarService } from "../../gen/gastown/v1/sidecar_pb.ts";
import { TerminalService } from "../../gen/gastown/v1/terminal_pb.ts";
import type { ListenAddress } from "../../rpc/port/listen.ts";
import { SocketOwners } from "../../rpc/port/socket-owners.ts";
import type { Routes } from "../../rpc/server/adapter.ts";
import type { Gate } from "../../rpc/server/guard.ts";
import type { HostCheck } from "../../rpc/server/host-check.ts";
import { AgentTasks, type AgentTasksOptions, type LifecycleObserver } from "../agent/agent-tasks.ts";
import { Boundary } from "../agent/boundary.ts";
import { Operator } from "../agent/operator.ts";
import type { SidecarAgent } from "../agent/sidecar-agent.ts";
import { typeText } from "../agent/type-text.ts";
import { HalvesLinkClient } from "../halves/halves-link-client.ts";
import { openStateFolder, type StateFolder } from "../halves/state-folder.ts";
import { ofAgent, openJournal } from "../journal/journal-records.ts";
import { localUsersGate } from "./local-users.ts";
import { type SidecarServiceDeps, sidecarRoutes } from "./server.ts";
import { plainRules, tlsPlace, tlsRules, tokenOptions } from "./serving-rules.ts";
import { SidecarMetrics } from "./sidecar-metrics.ts";
import { StartupGate } from "./startup-gate.ts";

export interface ServeDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Records each decision about a caller over TLS. Default: none is recorded. */
  readonly audit?: AuditLog | undefined;
  /** Called once with the address of the RPC listener. */
  readonly onListening: (address: ListenAddress) => Promise<void>;
}

export interface ServeOptions extends AgentTasksOptions {
  /** A unix socket is served in plaintext, and its peers name the persons they speak for. */
  readonly listen: ListenAddress;
  readonly healthListen: ListenAddress;
  /** Folder with certificate, key and CA; without it plaintext is served. */
  readonly tlsDir?: string | undefined;
  /**
   * The roles of callers over TLS; without them the controllers of the certificate's trust domain may do everything.
   */
  readonly roleRules?: readonly RoleRule[] | undefined;
  /** Tokens that give roles over TLS, in addition to the rules. */
  readonly tokens?: Pick<TokenLayerOptions, "keyFiles" | "audience"> | undefined;
  /** Over TLS: which CAs must have a current revocation list. Default: none. */
  readonly trust?: TlsFolderOptions["trust"];
  readonly hostCheck: HostCheck;
  /**
   * On loopback without TLS: users of this machine that are served besides our own and root, by uid. Default: any, for
   * addresses that others guard.
   */
  readonly localUsers?: readonly number[] | undefined;
}

/** The parts that exist before anything is known of the agent. */
interface Ground {
  readonly state: StateFolder;
  readonly control: HalvesLinkClient;
  readonly counters: SidecarMetrics;
  readonly boundary: Boundary;
}

/**
 * How long to wait at the start for the supervising half to report which agent is running, and so whether the journal
 * is its own.
 */
const HELLO_MS = 2000;

/**
 * The serving half: RPC, state, messages. It may die at any instant; the next one continues from tmux, the journal and
 * the hook FIFO. Stops with the signal: no new calls, streams end with a reason, a delivery under way is left to the
 * next serving half.
 */
export class ServingHalf implements Task {
  readonly frame: DaemonFrame;
  readonly #deps: ServeDeps;
  readonly #options: ServeOptions;
  readonly #listening = Promise.withResolvers<void>();
  readonly #startupGate: StartupGate;

  constructor(deps: ServeDeps, options: ServeOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#startupGate = new StartupGate(deps.clock);
    const { healthListen, hostCheck, tlsDir } = options;
    // With TLS the RPC server waits for its files. Without TLS the start fails if only one of the two servers can
    // listen.
    const toldAfter = tlsDir === undefined ? this.#listening.promise : undefined;
    this.frame = new DaemonFrame(deps, { healthListen, hostCheck, toldAfter });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const counters = new SidecarMetrics(this.frame.metrics.registry);
    const boundary = new Boundary({ logger, count: (violation) => counters.violated(violation) });
    using state = openStateFolder(this.#options.sidecar.stateDir, {
      strict: this.#options.isApart,
      onOdd: (oddity) => boundary.note(oddity),
    });
    const control = new HalvesLinkClient({
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
    if (replaced) logger.error("the journal was replaced by a file that is not ours: earlier receipts are lost");
    if (damaged > 0) logger.error({ records: damaged }, "the journal is damaged: these records are lost");
    const tasks = AgentTasks.open(
      { clock, logger, state, control, boundary, journal, restored, nudges: counters },
      this.#options,
    );
    const { agent } = tasks;
    counters.observe(agent, { ...sidecar.identity, provider: sidecar.agent });
    Promise.all([this.#listening.promise, this.frame.listening]).then(
      () => control.serving(),
      () => {}, // a server that cannot listen ends this half and reports why
    );
    await runTasks(signal, [
      tasks.task(this.#observer(agent, control, signal)),
      { run: (stop) => this.#endStreams(agent, stop) },
      this.#rpcServer(agent),
      this.frame,
    ]);
    agent.journal.rewrite();
    journal.close();
  }

  /**
   * Calls wait for the first look at the agent; the health service reports whether it is running and its output is
   * piped.
   */
  #observer(agent: SidecarAgent, control: HalvesLinkClient, signal: AbortSignal): LifecycleObserver {
    const { health } = this.frame;
    const setReady = (able: boolean) => {
      void this.#listening.promise.then(() => {
        for (const service of ["", SidecarService.typeName]) health.set(service, able && agent.lifecycle.alive);
      });
    };
    return {
      looked: () => this.#startupGate.done(),
      ready: setReady,
      finished: (exitCode) => void this.#finish(control, agent, exitCode, signal),
    };
  }

  #rpcServer(agent: SidecarAgent): Task {
    const { clock, logger, audit } = this.#deps;
    const { health, metrics } = this.frame;
    const { sidecar, listen, tlsDir, tokens, trust, hostCheck } = this.#options;
    const { sessionId, project } = sidecar.identity;
    const server: TrustedServer = new TrustedServer(
      { clock, logger, metrics, health, audit },
      {
        listen,
        tls: tlsDir === undefined ? undefined : tlsPlace({ dir: tlsDir, trust }, sessionId),
        tokens: tlsDir === undefined || tokens === undefined ? undefined : tokenOptions(tokens),
        services: [SidecarService, TerminalService],
        rules: (tls) => {
          const roleRules =
            tls === undefined ? [] : (this.#options.roleRules ?? controllerRule(identitiesOf(tls.leaf)));
          const routes = this.#service(agent, { roleRules, tlsInUse: () => tlsInUse(server.tls) });
          const { gates, ...rules } = tls === undefined ? plainRules(listen) : tlsRules(tls, roleRules, project);
          const local = tls === undefined && listen.path === undefined ? this.#localUsersGate() : [];
          return { ...rules, routes, gates: [...gates, ...local, this.#startupGate.gate] };
        },
        hostCheck: {
          ...hostCheck,
          anyHost: hostCheck.anyHost === true || tlsDir !== undefined || listen.path !== undefined,
        },
        graceMs: 1000,
      },
    );
    const listening = Promise.all([server.listening, this.frame.listening]);
    listening.then(([address]) => this.#deps.onListening(address)).then(this.#listening.resolve, () => {});
    return server;
  }

  #localUsersGate(): readonly Gate[] {
    const { clock, logger } = this.#deps;
    const { localUsers: allowed } = this.#options;
    if (allowed === undefined) return [];
    return [localUsersGate({ owners: new SocketOwners(clock), logger, uid: process.getuid?.() ?? 0, allowed })];
  }

  #service(agent: SidecarAgent, trust: Pick<SidecarServiceDeps, "roleRules" | "tlsInUse">): Routes {
    const { clock } = this.#deps;
    const { sidecar } = this.#options;
    const { messages, profile, lifecycle } = agent;
    const { output: source, monitor } = agent.terminal;
    const paneForCall = agent.pane.forCall;
    return sidecarRoutes({
      clock,
      agent,
      operator: new Operator({
        ...{ clock, mailbox: messages.mailbox, source, profile, paneForCall },
        alive: () => lifecycle.alive,
        answered: () => monitor.signs.answered(),
      }),
      identity: sidecar.identity,
      provider: sidecar.agent,
      decided: (context, refusal) => this.#deps.audit?.policy(context, {}, refusal),
      ...trust,
      typeText: (text) => typeText({ messages, paneForCall }, text),
    });
  }

  async #endStreams({ terminal, events }: SidecarAgent, signal: AbortSignal): Promise<void> {
    await aborted(signal);
    terminal.end("the sidecar is shutting down");
    events.end("the sidecar is shutting down");
  }

  /** Continues to serve for the linger time, then asks the supervising half to end. */
  async #finish(control: HalvesLinkClient, agent: SidecarAgent, exitCode: number, signal: AbortSignal): Promise<void> {
    await raceSignal(agent.recorder.over, signal).catch(() => {});
    await this.#deps.clock.sleep(this.#options.sidecar.lingerMs, signal).catch(() => {});
    if (!signal.aborted) control.finish(exitCode);
  }
}
