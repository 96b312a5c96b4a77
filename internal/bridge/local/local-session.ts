import { raceSignal } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { NudgeReceipt } from "../../session/types.ts";
import type {
  Actor,
  EventFeed,
  InputRequest,
  InputResult,
  SessionEventsRequest,
  SessionInfo,
  SessionTerminal,
  StartRequest,
} from "../session-backend.ts";
import type { AckedPosition, AgentEnd, AgentListener, AgentSession } from "./agent-session.ts";
import { isFinalStatus, nextState, type SessionFact, type SessionState, type StopReason } from "./session-state.ts";

export interface LocalSessionDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly makeAgent: (listener: AgentListener) => AgentSession;
  /** Disposed of when the agent has started, or will not start. */
  readonly untilStarted?: Disposable;
  /** The session, or its agent's summary in overviews, has changed. */
  readonly changed: (receipt?: NudgeReceipt) => void;
}

export interface LocalSessionOptions {
  /** An agent that has been idle for this long is stopped if no one follows it live or is attached. Infinity: never. */
  readonly idleTimeoutMs: number;
  readonly stopGraceMs: number;
}

/** Node's timers cannot wait much longer than 24 days. */
const MAX_SLEEP_MS = 24 * 3_600_000;

/** One agent from its start to its end, and its record afterwards. */
export class LocalSession {
  readonly request: StartRequest;
  /** Wall clock, ms. */
  readonly createdAt: number;
  readonly #deps: LocalSessionDeps;
  readonly #options: LocalSessionOptions;
  readonly #agent: AgentSession;
  readonly #starting = new AbortController();
  readonly #started = Promise.withResolvers<void>();
  /** Aborted when the agent has ended. */
  readonly #over = new AbortController();
  #state: SessionState = { type: "starting" };
  /** Monotonic, ms: the last input or output, or the end of a turn or of an attendance. */
  #activeAt: number;
  /** The number of clients that follow the session live or work in its terminal. */
  #attending = 0;

  constructor(deps: LocalSessionDeps, request: StartRequest, createdAt: number, options: LocalSessionOptions) {
    this.request = request;
    this.createdAt = createdAt;
    this.#deps = deps;
    this.#options = options;
    this.#activeAt = deps.clock.monotonicMs();
    this.#agent = deps.makeAgent({
      active: () => this.#active(),
      attended: () => this.#attend(),
      changed: (receipt) => deps.changed(receipt),
    });
  }

  get state(): SessionState {
    return this.#state;
  }

  get hasEnded(): boolean {
    return isFinalStatus(this.#state.type);
  }

  get log() {
    return this.#agent.log;
  }

  /** Resolves when the session is no longer STARTING. */
  get started(): Promise<void> {
    return this.#started.promise;
  }

  info(): SessionInfo {
    const { project, id, provider, repoPath, agentOpts } = this.request;
    const { log, agent, restarts, activity, agentSessionId } = this.#agent;
    const state = this.#state;
    return {
      ...{ project, id, provider, repoPath, agentOpts, createdAt: this.createdAt, status: state.type },
      stoppedAt: "at" in state ? state.at : undefined,
      error: state.type === "failed" ? state.error : "",
      reason: "why" in state ? state.why : "",
      ...{ lastSeq: log.head, epoch: log.epoch, agent, restarts, agentSessionId },
      activity: state.type === "running" && activity ? activity : undefined,
    };
  }

  /** Like `info`, but first asks the agent's terminal for the facts that only the terminal knows. */
  async describe(signal: AbortSignal): Promise<SessionInfo> {
    if (this.#state.type === "running") await this.#agent.refresh?.(signal);
    return this.info();
  }

  /** Starts the agent and resolves when nothing of it is left; never rejects. */
  async run(): Promise<void> {
    const end = await this.#live();
    this.#over.abort();
    const fact = { type: "ended", at: this.#deps.clock.now(), ...end } as const;
    const next = nextState(this.#state, fact);
    // Change the state at once: a subscriber that has got the last event must find the session ended.
    const finished = this.#agent.finish(next.type === "failed" ? { error: next.error } : {});
    this.#become(fact);
    this.#started.resolve();
    await finished.catch((err: unknown) => this.#bug(err));
  }

  /** Begins to stop the session. `force`: kills the agent, even if the session is already stopping. */
  stop(why: StopReason, force: boolean): void {
    const before = this.#state.type;
    if (this.hasEnded) return;
    this.#become({ type: "stop", why });
    if (before === "starting") this.#starting.abort(new DomainError("cancelled", "the session was stopped"));
    else if (before === "running" || force) void this.#stopAgent(force);
    this.#started.resolve();
  }

  /**
   * Waits while the session is starting. @throws DomainError `precondition` if the session is not running, otherwise as
   * `AgentSession.send`
   */
  async send(input: InputRequest, caller: Actor, signal: AbortSignal): Promise<InputResult> {
    await raceSignal(this.#started.promise, signal);
    if (this.#state.type !== "running") throw this.#notRunning();
    this.#active();
    return this.#agent.send(input, caller, signal);
  }

  /** @throws DomainError as `SessionLog.open` */
  async events(request: SessionEventsRequest, caller: Actor, signal: AbortSignal): Promise<EventFeed> {
    const wanted = { ...request, owner: caller.identity };
    if (!this.hasEnded) await this.#agent.recallPosition(wanted, caller, signal);
    const feed = this.#agent.log.open(wanted);
    const pipe: EventFeed["pipe"] = async (target, stop) => {
      using _attending = this.#attend();
      await feed.pipe(target, stop);
    };
    return { pipe };
  }

  /** @throws DomainError as `SessionLog.acknowledge` */
  async ack(position: AckedPosition, caller: Actor, signal: AbortSignal): Promise<void> {
    const { subscriber, seq, epoch } = position;
    this.#agent.log.acknowledge({ owner: caller.identity, subscriber }, seq, epoch);
    if (!this.hasEnded) await this.#agent.keepPosition(position, caller, signal);
  }

  /** @throws DomainError as `SessionBackend.terminal` */
  terminal(): SessionTerminal {
    const { terminal, hasTerminal } = this.#agent;
    if (!hasTerminal) throw new DomainError("unimplemented", "the session has no terminal: its agent uses stdio");
    const notRunning = () => this.#notRunning();
    if (this.hasEnded) {
      if (this.#agent.terminalAtEnd === undefined) throw notRunning();
      return this.#agent.terminalAtEnd(notRunning);
    }
    if (terminal !== undefined) return terminal;
    throw new DomainError("unavailable", "the session is starting: its terminal does not exist yet", {
      fields: { session: "starting" },
    });
  }

  async #live(): Promise<AgentEnd> {
    try {
      using _held = this.#deps.untilStarted;
      this.#starting.signal.throwIfAborted();
      await this.#agent.start(this.#starting.signal);
    } catch (err) {
      if (!(err instanceof DomainError)) this.#bug(err);
      else if (err.kind === "unavailable") this.#report(err, "this host cannot start a session now");
      return { error: err instanceof DomainError ? err.message : "internal error" };
    }
    const wasStopped = this.#state.type === "stopping";
    this.#active();
    this.#become({ type: "started" });
    this.#started.resolve();
    if (wasStopped) void this.#stopAgent(false);
    void this.#watchIdle();
    try {
      return await this.#agent.ended();
    } catch (err) {
      this.#bug(err);
      return { error: "internal error" };
    }
  }

  async #watchIdle(): Promise<void> {
    const { clock } = this.#deps;
    while (!this.#over.signal.aborted) {
      if (this.#attending > 0 || this.#agent.isOccupied) this.#active();
      const left = this.#activeAt + this.#options.idleTimeoutMs - clock.monotonicMs();
      if (left <= 0) return this.stop("IdleTimeout", false);
      await clock.sleep(Math.min(left, MAX_SLEEP_MS), this.#over.signal).catch(() => {});
    }
  }

  #attend(): Disposable {
    this.#attending++;
    this.#active();
    return {
      [Symbol.dispose]: () => {
        this.#attending--;
        this.#active();
      },
    };
  }

  async #stopAgent(force: boolean): Promise<void> {
    try {
      await this.#agent.stop(force ? 0 : this.#options.stopGraceMs);
    } catch (err) {
      this.#bug(err);
    }
  }

  #active(): void {
    this.#activeAt = this.#deps.clock.monotonicMs();
  }

  #become(fact: SessionFact): void {
    const before = this.#state;
    this.#state = nextState(before, fact);
    if (this.#state === before) return;
    const { project, id: session, provider } = this.request;
    const reason = "why" in this.#state ? this.#state.why : undefined;
    this.#deps.logger.info({ project, session, provider, status: this.#state.type, reason }, "session changed");
    this.#deps.changed();
  }

  #notRunning(): DomainError {
    const state = this.#state;
    const why = state.type === "failed" ? `has failed: ${state.error}` : `is ${state.type}: its agent accepts no input`;
    return new DomainError("precondition", `the session ${why}`, { fields: { status: state.type } });
  }

  #bug(err: unknown): void {
    this.#report(err, "a session failed because of a bug");
  }

  #report(err: unknown, message: string): void {
    const { project, id: session, provider } = this.request;
    this.#deps.logger.error({ err, project, session, provider }, message);
  }
}
