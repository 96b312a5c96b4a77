import { aborted, raceSignal, within } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { Redactor } from "../../base/redact.ts";
import type { Task } from "../../base/task-group.ts";
import type { NudgeReceipt } from "../../session/types.ts";
import type { EventSession } from "../../wire/event.ts";
import type { Provider, SessionConfig } from "../provider.ts";
import { agentAddressOf, checkAgent, withoutAgent } from "../session-agent.ts";
import type {
  Actor,
  EventFeed,
  InputRequest,
  InputResult,
  ProviderInfo,
  SessionBackend,
  SessionChange,
  SessionEventsRequest,
  SessionInfo,
  SessionKey,
  SessionTerminal,
  StartRequest,
} from "../session-backend.ts";
import { SessionChanges } from "../session-changes.ts";
import { modeOf, type SessionMode } from "../session-mode.ts";
import type { TerminalLauncher, TerminalSurvivor } from "../terminal-launcher.ts";
import type { AckedPosition, AgentListener, AgentSession } from "./agent-session.ts";
import type { BridgeMetrics } from "./bridge-metrics.ts";
import { LocalSession, type LocalSessionDeps } from "./local-session.ts";
import { ProviderRegistry } from "./provider-registry.ts";
import { openRepo } from "./repo-path.ts";
import { SessionTable } from "./session-table.ts";
import type { SessionTokens } from "./session-tokens.ts";
import { StdioSession } from "./stdio-session.ts";
import { TerminalSession } from "./terminal-session.ts";

export interface LocalSessionsDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Removes secrets from event texts. */
  readonly redactor: Redactor;
  /** The providers in the configuration. */
  readonly providers: readonly Provider[];
  /** Absent: providers cannot use the mode `terminal` here. */
  readonly terminals?: TerminalLauncher | undefined;
  /** Default: every project may start sessions. @throws DomainError `denied` for a project that may not */
  readonly checkProject?: ((project: string) => void) | undefined;
  readonly metrics?: BridgeMetrics;
  /** Absent: agents get no tokens. */
  readonly tokens?: SessionTokens | undefined;
  /** Receives the receipt of each input. */
  readonly onReceipt?: (session: SessionKey, receipt: NudgeReceipt) => void;
}

/** `sessions` and `allowed_paths` of the configuration; times in ms. */
export interface LocalSessionsOptions {
  readonly maxPerProject: number;
  readonly maxGlobal: number;
  /** A session without input and output for this long is stopped; Infinity: never. */
  readonly idleTimeoutMs: number;
  readonly stopGraceMs: number;
  /** A session that has ended is kept for this long, with its events; at most 24 days. */
  readonly retentionMs: number;
  /** The most events to keep of one session, by number and by bytes. */
  readonly eventBuffer: number;
  readonly eventBytes: number;
  /** Absolute; a segment `*` matches any single segment. */
  readonly allowedPaths: readonly string[];
}

/** StartSession responds after this long even if the agent has not started; the status is then STARTING. */
const START_WAIT_MS = 10_000;

/** Labels that WatchSessions supports on a host. */
const LABELS: ReadonlySet<string> = new Set(["gastown.io/agent", "gastown.io/provider"]);

/**
 * Sessions on this host. Accepts starts while `run` is running; when its signal is aborted, `run` stops all sessions
 * before it resolves.
 */
export class LocalSessions implements SessionBackend, Task {
  readonly knownLabels = LABELS;
  readonly #deps: LocalSessionsDeps;
  readonly #options: LocalSessionsOptions;
  readonly #providers: ProviderRegistry;
  readonly #table: SessionTable;
  readonly #changes = new SessionChanges();
  /** Sessions whose provider is being checked; the promise settles with the result. */
  readonly #admissions = new Map<LocalSession, Promise<void>>();
  readonly #running = new Set<Promise<void>>();
  /** Resolves when the sessions of an earlier daemon have been adopted. */
  readonly #ready = Promise.withResolvers<void>();
  readonly #closing = new AbortController();

  constructor(deps: LocalSessionsDeps, options: LocalSessionsOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#providers = new ProviderRegistry(deps, deps.providers);
    this.#table = new SessionTable(options);
    deps.metrics?.observe(() => [...this.#table.all()].map((session) => session.info()));
  }

  /** Resolves when the sessions of an earlier daemon have been adopted; before that they would seem not to exist. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  async run(signal: AbortSignal): Promise<void> {
    const survivors = await this.#survivors(signal);
    // Wait: until adopted, a running session would be shown as starting, without the position of its events.
    await Promise.all(survivors.map((survivor) => this.#adopt(survivor)));
    this.#deps.tokens?.removeOthers();
    this.#ready.resolve();
    await aborted(signal);
    this.#closing.abort();
    for (const session of this.#table.all()) session.stop("BridgeShutdown", false);
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async start(request: StartRequest, _caller: Actor, signal: AbortSignal): Promise<SessionInfo> {
    try {
      const session = await this.#start(request, signal);
      this.#deps.metrics?.started(request.provider);
      return session;
    } catch (err) {
      this.#deps.metrics?.started(request.provider, err);
      throw err;
    }
  }

  async stop(key: SessionKey, { force }: { readonly force: boolean }): Promise<SessionInfo> {
    const session = this.#find(key);
    session.stop("StopRequested", force);
    return session.info();
  }

  get(key: SessionKey): SessionInfo | undefined {
    return this.#table.get(key)?.info();
  }

  async describe(key: SessionKey, signal: AbortSignal): Promise<SessionInfo | undefined> {
    return await this.#table.get(key)?.describe(signal);
  }

  list(project: string): readonly SessionInfo[] {
    return this.#table.of(project).map((session) => session.info());
  }

  changes(project: string, signal: AbortSignal): AsyncIterable<SessionChange> {
    return this.#changes.read(project, signal);
  }

  labelsOf({ agent, provider }: SessionInfo): Readonly<Record<string, string>> {
    return { "gastown.io/agent": agent, "gastown.io/provider": provider };
  }

  async sendInput(key: SessionKey, input: InputRequest, caller: Actor, signal: AbortSignal): Promise<InputResult> {
    return this.#find(key).send(input, caller, signal);
  }

  async events(key: SessionKey, request: SessionEventsRequest, caller: Actor, signal: AbortSignal): Promise<EventFeed> {
    return this.#find(key).events(request, caller, signal);
  }

  async ack(key: SessionKey, position: AckedPosition, caller: Actor, signal: AbortSignal): Promise<void> {
    await this.#find(key).ack(position, caller, signal);
  }

  terminal(key: SessionKey): SessionTerminal {
    return this.#find(key).terminal();
  }

  providers(): Promise<readonly ProviderInfo[]> {
    return this.#providers.list();
  }

  async #start(request: StartRequest, signal: AbortSignal): Promise<SessionInfo> {
    await raceSignal(this.#ready.promise, signal);
    const session = this.#known(request) ?? this.#begin(request);
    await this.#admissions.get(session);
    await this.#started(session, signal);
    return session.info();
  }

  /** @throws DomainError `not-found` */
  #find(key: SessionKey): LocalSession {
    const session = this.#table.get(key);
    if (session === undefined) throw new DomainError("not-found", `no session ${JSON.stringify(key.id)}`);
    return session;
  }

  /**
   * The session that was started before with the same parameters; undefined: none.
   * @throws DomainError `precondition`, `already-exists`
   */
  #known(request: StartRequest): LocalSession | undefined {
    const session = this.#table.get(request);
    if (session === undefined) return undefined;
    const named = `session ${JSON.stringify(request.id)}`;
    if (session.hasEnded) {
      const fields = { status: session.state.type };
      throw new DomainError("precondition", `${named} has ended and is still kept: choose another id`, { fields });
    }
    if (isSame(session.request, request)) return session;
    throw new DomainError("already-exists", `${named} was started with other parameters`);
  }

  /** Runs synchronously up to the table's entry, so that concurrent calls find the session and count it. */
  #begin(request: StartRequest): LocalSession {
    if (this.#closing.signal.aborted) throw new DomainError("unavailable", "the bridge is shutting down");
    const provider = this.#providers.get(request.provider);
    this.#deps.checkProject?.(request.project);
    provider.checkAllowed?.(request.agentOpts);
    checkAgent(request.agentOpts, this.#deps.tokens?.roles ?? []);
    const mode = modeOf(provider, request.agentOpts, this.#deps.terminals !== undefined);
    const { mode: _, ...options } = withoutAgent(request.agentOpts);
    provider.checkOptions(options);
    if (mode === "terminal") this.#deps.terminals?.checkOptions(provider.id, options);
    using stack = new DisposableStack();
    const folder = stack.use(openRepo(request.repoPath, this.#options.allowedPaths));
    this.#table.checkRoom(request.project);
    this.#table.checkAgent(request);
    const createdAt = this.#deps.clock.now();
    const { project, id: sessionId } = request;
    const asked = { agentOpts: request.agentOpts, createdAt };
    const config = { project, sessionId, repoPath: folder.path, cwd: folder.cwd, options, asked };
    const makeAgent = (listener: AgentListener) =>
      this.#makeAgent(provider, mode, { ...config, request, createdAt }, listener);
    const untilStarted = stack.move();
    const session = this.#add(request, createdAt, { makeAgent, untilStarted });
    this.#admissions.set(session, this.#admit(session, provider, untilStarted));
    return session;
  }

  /** @throws DomainError `precondition` if the provider cannot be used; the session is then removed */
  async #admit(session: LocalSession, provider: Provider, folder: Disposable): Promise<void> {
    try {
      await this.#providers.check(provider);
      void this.#run(session);
    } catch (err) {
      folder[Symbol.dispose]();
      this.#release(session);
      throw err;
    } finally {
      this.#admissions.delete(session);
    }
  }

  #add(
    request: StartRequest,
    createdAt: number,
    parts: Pick<LocalSessionDeps, "makeAgent" | "untilStarted">,
  ): LocalSession {
    const { clock, logger } = this.#deps;
    const changed = (receipt?: NudgeReceipt) => {
      if (receipt !== undefined) this.#deps.onReceipt?.(request, receipt);
      this.#changes.tell({ type: "changed", session: session.info(), receipt });
    };
    const session: LocalSession = new LocalSession(
      { ...parts, clock, logger, changed },
      request,
      createdAt,
      this.#options,
    );
    this.#table.add(session);
    changed();
    return session;
  }

  #makeAgent(
    provider: Provider,
    mode: SessionMode,
    config: SessionConfig & { readonly request: StartRequest; readonly createdAt: number },
    listener: AgentListener,
  ): AgentSession {
    const { clock, logger, redactor, terminals } = this.#deps;
    if (mode === "stdio" || terminals === undefined) {
      const agent = agentAddressOf(config.request);
      return new StdioSession({ clock, logger, redactor, provider, listener, agent }, config, this.#options);
    }
    const launch = (signal: AbortSignal) => terminals.start({ ...config, provider: provider.id }, signal);
    return new TerminalSession(
      { clock, logger, session: eventSessionOf(config.request), launch, listener, isSurvivor: false },
      this.#options,
    );
  }

  async #survivors(signal: AbortSignal): Promise<readonly TerminalSurvivor[]> {
    const { terminals, logger } = this.#deps;
    try {
      return (await terminals?.survivors(signal)) ?? [];
    } catch (err) {
      if (!signal.aborted) logger.error({ err }, "sessions of an earlier bridge cannot be taken over");
      return [];
    }
  }

  /** Resolves when the session is running again, or has ended. */
  #adopt({ config, launched, isLost }: TerminalSurvivor): Promise<void> {
    const { clock, logger } = this.#deps;
    const launch = async () => launched;
    const session = eventSessionOf(config.request);
    const makeAgent = (listener: AgentListener) =>
      new TerminalSession({ clock, logger, session, launch, listener, isSurvivor: true }, this.#options);
    const adopted = this.#add(config.request, config.createdAt, { makeAgent });
    const ended = this.#run(adopted);
    return isLost === true ? ended : adopted.started;
  }

  /** Resolves when the session has ended. */
  #run(session: LocalSession): Promise<void> {
    const token = this.#deps.tokens?.keep(session.request);
    const running = session.run().then(() => {
      token?.[Symbol.dispose]();
      this.#running.delete(running);
      void this.#retain(session);
    });
    this.#running.add(running);
    if (this.#closing.signal.aborted) session.stop("BridgeShutdown", false);
    return running;
  }

  async #retain(session: LocalSession): Promise<void> {
    for (const old of this.#table.overflow()) this.#release(old);
    await this.#deps.clock.sleep(this.#options.retentionMs, this.#closing.signal).catch(() => {});
    this.#release(session);
  }

  #release(session: LocalSession): void {
    if (this.#table.remove(session)) this.#changes.tell({ type: "gone", session: session.info() });
  }

  async #started(session: LocalSession, signal: AbortSignal): Promise<void> {
    await within(this.#deps.clock, START_WAIT_MS, session.started, signal);
    signal.throwIfAborted();
  }
}

function eventSessionOf({ id: sessionId, project: projectId, provider }: StartRequest): EventSession {
  return { sessionId, projectId, provider };
}

function isSame(a: StartRequest, b: StartRequest): boolean {
  const text = ({ provider, repoPath, agentOpts }: StartRequest) =>
    JSON.stringify([provider, repoPath, Object.entries(agentOpts).toSorted()]);
  return text(a) === text(b);
}
