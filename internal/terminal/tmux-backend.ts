import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import type { MachineTime } from "../base/machine-time.ts";
import { plainText, styledText } from "../base/sanitise.ts";
import { openPrivateFolder } from "../files/private-folder.ts";
import { lastLines, linesWanted } from "../pane/screen/peek-text.ts";
import type { Processes } from "../process/process-alive.ts";
import type { AgentStatus } from "../session/agent-status.ts";
import type {
  KeysRequest,
  NudgeReceipt,
  NudgeRequest,
  PeekRequest,
  PeekResult,
  RespondRequest,
  RespondResult,
  WatchRequest,
  WatchUpdate,
} from "../session/types.ts";
import type { PaneFacts } from "../tmux/pane/pane-facts.ts";
import type { Backend } from "./backend.ts";
import type { IdentifyProgram, LocalAgent } from "./local-agent.ts";
import { pressKeys } from "./local-keys.ts";
import { LocalReceipts } from "./local-receipts.ts";
import { SessionLock } from "./session-lock.ts";
import { isGone, TmuxSession, type TmuxSessionFacts, type TmuxSessionOptions } from "./tmux-session.ts";

export interface TmuxBackendDeps {
  readonly clock: Clock;
  /** The clock by which recorded request ids expire. */
  readonly time: MachineTime;
  readonly logger: () => Promise<Logger>;
  readonly processes: Processes;
  /** Returns the reason why the program in the pane is not an agent; undefined if it may be one. */
  readonly absent: (facts: PaneFacts, session: TmuxSessionFacts) => string | undefined;
  /** Loads the knowledge of agent programs, for calls that need more than a peek. */
  readonly identify: () => Promise<IdentifyProgram>;
  readonly newId: () => string;
  readonly random: () => number;
}

export interface TmuxBackendOptions extends TmuxSessionOptions {
  /** The agent's address. */
  readonly agent: string;
  readonly pid: number;
  readonly uid: number;
}

/**
 * A state that only the screen shows is certain after this long (see `SCREEN_IDLE_MS`); a status call waits no longer.
 */
const STATUS_MS = 1800;
const STATUS_LOOK_MS = 50;
/**
 * The age from which an agent without a sign that it takes messages no longer counts as starting, by how its profile
 * proves that it is idle.
 */
const START_MS = { screen: 60_000, silence: 5000 };

/**
 * An agent in a local tmux session: the same delivery as a sidecar's, behind a lock that all `gt` processes take, with
 * captures instead of a stream of output. It keeps no queue and no raw output: those are `unimplemented`.
 */
export class TmuxBackend implements Backend {
  readonly where: string;
  readonly #deps: TmuxBackendDeps;
  readonly #options: TmuxBackendOptions;
  #opened: Promise<TmuxSession> | undefined;

  constructor(deps: TmuxBackendDeps, options: TmuxBackendOptions) {
    this.where = `local tmux ${JSON.stringify(options.session)}`;
    this.#deps = deps;
    this.#options = options;
  }

  async peek(request: PeekRequest, signal: AbortSignal): Promise<PeekResult> {
    const session = await this.#session(signal);
    const count = request.all ? Number.POSITIVE_INFINITY : linesWanted(request.lines);
    const start = request.all || request.joinWrapped ? "-" : -count;
    const capture = session.pane.capture({ start, escapes: request.ansi, join: request.joinWrapped });
    const [text, facts, known] = await this.#found(Promise.all([capture, session.pane.facts(), session.facts()]));
    const clean = request.ansi ? styledText : plainText;
    const lines = text.split("\n").map((line) => clean(line.trimEnd()));
    return {
      ...lastLines(lines, count, (line) => plainText(line).trim() === ""),
      alive: !facts.dead && this.#deps.absent(facts, known) === undefined,
      alternateScreen: facts.alternate,
      cols: facts.cols,
      rows: facts.rows,
      cursorX: facts.cursorX,
      cursorY: facts.cursorY,
      epoch: "",
      offset: 0n,
      historyLines: facts.historySize,
    };
  }

  async status(signal: AbortSignal): Promise<AgentStatus> {
    const session = await this.#session(signal);
    const { agent, known } = await this.#meet(session);
    await this.#settle(agent, signal);
    const { state, evidence, dialog, draft, background } = agent.monitor.report;
    const { program, absent } = agent;
    const { withExitCode } = await import("./local-agent.ts");
    const facts = await this.#found(withExitCode(agent.facts, session));
    const alive = absent === undefined;
    const age = program.startedAt === undefined ? undefined : this.#deps.clock.now() - program.startedAt;
    const unsure = state === "starting" && (age === undefined || age > START_MS[program.profile.idleProof]);
    return {
      alive,
      state: unsure ? "uncertain" : state,
      stateSince: this.#deps.clock.now() - Math.max(0, ...evidence.map((one) => one.ageMs)),
      evidence: alive
        ? evidence.map((one) => (unsure ? { ...one, confidence: "weak" } : one))
        : [{ source: "process", value: absent, ageMs: 0, confidence: "proof" }],
      agentPid: program.pid,
      restarts: 0,
      uptimeSeconds: alive && age !== undefined ? Math.max(0, Math.floor(age / 1000)) : 0,
      queueDepth: 0,
      attached: known.attached,
      epoch: "",
      cols: facts.cols,
      rows: facts.rows,
      draft,
      background: alive ? background : [],
      versions: { tmux: this.#options.tmuxVersion.text },
      agent: this.#options.agent,
      sessionId: this.#options.session,
      projectId: "",
      provider: program.provider,
      dialog,
      exitCode: facts.deadStatus,
      lastOutputAt: known.lastOutputAt,
    };
  }

  async nudge(request: NudgeRequest, signal: AbortSignal): Promise<NudgeReceipt> {
    const session = await this.#session(signal);
    const { clock, newId } = this.#deps;
    const { agent } = await this.#meet(session);
    const { LocalNudge } = await import("./local-nudge.ts");
    const logger = await this.#deps.logger();
    const receipts = this.#receipts();
    const lock = this.#lock();
    const deps = { clock, time: this.#deps.time, logger, session, agent, lock, receipts, newId };
    const nudge = new LocalNudge(deps, request.requestId);
    return await nudge.send(request, signal);
  }

  /** The dialog's id prevents a second answer to the same dialog; request ids are not remembered. */
  async respond(request: RespondRequest, signal: AbortSignal): Promise<RespondResult> {
    const session = await this.#session(signal);
    const { agent } = await this.#meet(session);
    const { respondLocal } = await import("./local-respond.ts");
    return await respondLocal({ clock: this.#deps.clock, session, agent, lock: this.#lock() }, request, signal);
  }

  async getNudge(requestId: string): Promise<NudgeReceipt> {
    await openPrivateFolder(this.#options.folder, this.#options.uid);
    const known = this.#receipts().find(requestId);
    if (known === undefined)
      throw new DomainError("not-found", `no message with request id ${JSON.stringify(requestId)}`);
    if (known.ended !== undefined) return known.ended.receipt;
    const error = known.intent
      ? "it was being typed when its gt ended, or it still is"
      : "its gt still waits, or ended before it was typed";
    const { sender } = known.nudge;
    return {
      requestId,
      outcome: known.intent ? "unknown" : "queued",
      error,
      sender,
      queuePosition: 0,
      evidence: [],
      timings: {},
    };
  }

  /**
   * The receipt of a nudge that has ended or is being typed.
   * @throws DomainError `precondition` for a nudge that still waits: only the `gt` process that sends it can cancel it
   */
  async cancelNudge(requestId: string): Promise<NudgeReceipt> {
    const receipt = await this.getNudge(requestId);
    if (receipt.outcome !== "queued") return receipt;
    throw new DomainError(
      "precondition",
      `cannot cancel ${JSON.stringify(requestId)}: the gt process that sends it holds it`,
      {
        fields: { hint: "end that process, e.g. with Ctrl-C: without a sidecar there is no queue" },
      },
    );
  }

  /** @throws DomainError `unimplemented` for a request id too: only a sidecar remembers keys */
  async sendKeys(request: KeysRequest, signal: AbortSignal): Promise<void> {
    if (request.requestId !== "") {
      throw new DomainError("unimplemented", "a local tmux session does not record which keys were pressed", {
        fields: { hint: "omit the request id" },
      });
    }
    const session = await this.#session(signal);
    const [facts, known] = await this.#found(Promise.all([session.pane.facts(), session.facts()]));
    const absent = this.#deps.absent(facts, known);
    if (absent !== undefined) throw new DomainError("precondition", `cannot press keys: ${absent}`);
    await this.#found(pressKeys({ clock: this.#deps.clock, pane: session.pane, lock: this.#lock() }, request, signal));
  }

  stop(): never {
    throw new DomainError("unimplemented", `${this.where} is not run by a sidecar, so gt cannot end its agent safely`, {
      fields: { hint: "attach to it and end the agent there" },
    });
  }

  async *watch(request: WatchRequest, signal: AbortSignal): AsyncGenerator<WatchUpdate, void, undefined> {
    if (request.mode === "raw") {
      throw new DomainError("unimplemented", "a local tmux session provides no raw output", {
        fields: { hint: "run the agent under gt-sidecar" },
      });
    }
    const { watchLocal } = await import("./local-watch.ts");
    yield* watchLocal({ clock: this.#deps.clock, peek: (what, stop) => this.peek(what, stop) }, request, signal);
  }

  /** Only tmux itself attaches to a local session: see `tmuxAttachCommand`. */
  attach(): never {
    throw new DomainError("unimplemented", `${this.where} can only be attached to by tmux itself`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const session = await this.#opened?.catch(() => undefined);
    await session?.[Symbol.asyncDispose]();
  }

  /** Opens the session at the first call that needs it. After a failure, the next call tries again. */
  async #session(signal: AbortSignal): Promise<TmuxSession> {
    this.#opened ??= this.#open(signal);
    try {
      return await this.#opened;
    } catch (err) {
      this.#opened = undefined;
      throw err;
    }
  }

  async #open(signal: AbortSignal): Promise<TmuxSession> {
    await openPrivateFolder(this.#options.folder, this.#options.uid);
    return await TmuxSession.open(this.#deps, this.#options, signal);
  }

  /** Watches until the state is certain, or as certain as it will become. */
  async #settle(agent: LocalAgent, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const end = clock.monotonicMs() + STATUS_MS;
    agent.monitor.signs.read(await agent.program.readState());
    for (;;) {
      const { state } = await agent.monitor.look(signal);
      const open = state === "uncertain" || state === "starting";
      if (!open || clock.monotonicMs() >= end) return;
      await clock.sleep(STATUS_LOOK_MS, signal);
    }
  }

  async #meet(session: TmuxSession) {
    const { LocalAgent } = await import("./local-agent.ts");
    return await this.#found(LocalAgent.meet(this.#deps.clock, session, await this.#deps.identify()));
  }

  async #found<T>(asked: Promise<T>): Promise<T> {
    try {
      return await asked;
    } catch (err) {
      if (!isGone(err)) throw err;
      throw new DomainError("not-found", `${this.where} is gone`, { cause: err });
    }
  }

  #lock(): SessionLock {
    return new SessionLock(this.#options.folder, this.#name, { ...this.#deps, ...this.#options });
  }

  #receipts(): LocalReceipts {
    const { clock, random } = this.#deps;
    return new LocalReceipts(this.#options.folder, this.#name, { clock, time: this.#deps.time, random });
  }

  get #name(): string {
    return `${this.#options.socketPath}\n${this.#options.session}`;
  }
}
