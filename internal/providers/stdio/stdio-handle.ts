import { randomUUID } from "node:crypto";
import { raceSignal, timedCall, withTimeout } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError, errorText } from "../../base/errors.ts";
import type { Redactor } from "../../base/redact.ts";
import type { AgentEvent, AgentInput, InputOutcome, SessionConfig, SessionHandle } from "../../bridge/provider.ts";
import {
  type AgentCommand,
  AgentProcess,
  type OutputSink,
  type ProcessEnd,
} from "../../process/children/agent-process.ts";
import { MARK_VARIABLE, type MarkedProcesses } from "../../process/children/marked-processes.ts";
import type { OrphanGuard } from "../../process/children/orphan-guard.ts";
import { lastWords } from "../../process/last-words.ts";
import type { AgentLink, Conversation, ProgramDialect } from "../conversation/conversation.ts";
import { harmlessText } from "../conversation/harmless-text.ts";
import { AgentOutput } from "./agent-output.ts";
import { EventQueue } from "./event-queue.ts";
import { HeldInputs } from "./held-inputs.ts";
import { InputBook } from "./input-book.ts";

/** Above these limits the agent's output is held back. */
const QUEUE_LIMITS = { events: 1000, characters: 1024 * 1024 };
/** How long an agent may take to acknowledge a message: a healthy one does at once, a loaded one within seconds. */
const TAKEN_WITHIN_MS = 30_000;
/**
 * How long the processes that an agent leaves behind may take to end by themselves; during a stop, at most
 * ORPHANS_SHARE of the grace period.
 */
const ORPHANS_GRACE_MS = 2_000;
const ORPHANS_SHARE = 0.1;

const SUBMITTED: InputOutcome = { outcome: "submitted", error: "" };
const QUEUED: InputOutcome = { outcome: "queued", error: "" };
const LOST: InputOutcome = { outcome: "unknown", error: "the agent ended with the message in its own queue" };
const DEAD: InputOutcome = { outcome: "agent-dead", error: "the agent has ended" };

/** One agent that is driven over its standard streams, from its start to its last event. */
export class StdioHandle implements SessionHandle {
  readonly id: string;
  readonly events: EventQueue;
  readonly #clock: Clock;
  readonly #conversation: Conversation;
  readonly #output: AgentOutput;
  readonly #held = new HeldInputs();
  readonly #book = new InputBook();
  readonly #redactor: Redactor;
  readonly #command: RegExp | undefined;
  readonly #over = new AbortController();
  #process: AgentProcess | undefined;
  #gone: Promise<void> = Promise.resolve();
  #isStopping = false;
  /** True: the agent has closed its output and is stopped for that reason. */
  #isMuted = false;
  #orphansGraceMs = ORPHANS_GRACE_MS;
  #isGiving = false;

  private constructor(
    {
      clock,
      dialect,
      redactor,
    }: { readonly clock: Clock; readonly dialect: ProgramDialect; readonly redactor: Redactor },
    config: SessionConfig,
  ) {
    this.#clock = clock;
    this.#redactor = redactor;
    this.#command = dialect.command;
    this.id = config.sessionId;
    this.events = new EventQueue(QUEUE_LIMITS, () => this.#process?.hold(false));
    // With `raw`, the program's own lines replace the output decoded from them.
    const isRaw = config.options["raw"] === "true";
    const link: AgentLink = {
      clock,
      cwd: () => this.#process?.cwd() ?? config.repoPath,
      write: (message) => this.#write(message),
      endInput: () => this.#process?.endInput(),
      emit: (event) => {
        if (!isRaw || event.type !== "output") this.#emit(event);
      },
    };
    this.#conversation = dialect.converse(link, config);
    this.#output = new AgentOutput({
      onLine: (line) => this.#conversation.onLine(line),
      emit: (event) => this.#emit(event),
      raw: isRaw,
    });
  }

  /**
   * Starts the agent and waits until it takes messages. On any failure nothing is left running.
   * @throws DomainError `precondition`, `unavailable`, `deadline`, or the signal's reason
   */
  static async start(
    deps: {
      readonly clock: Clock;
      readonly dialect: ProgramDialect;
      readonly guard: OrphanGuard;
      readonly marked: MarkedProcesses;
      readonly redactor: Redactor;
      readonly startupTimeoutMs: number;
    },
    command: AgentCommand,
    config: SessionConfig,
    signal: AbortSignal,
  ): Promise<StdioHandle> {
    signal.throwIfAborted();
    const session = new StdioHandle(deps, config);
    const mark = randomUUID();
    const marked = { ...command, env: { ...command.env, [MARK_VARIABLE]: mark } };
    const sink: OutputSink = {
      stdout: (chunk) => session.#onChunk(() => session.#output.stdout(chunk)),
      stderr: (chunk) => session.#onChunk(() => session.#output.stderr(chunk)),
      abandoned: (stream, bytes) =>
        session.#emit({ type: "lost", stream, bytes, reason: "the agent ended before its output was read" }),
      muted: () => session.#onMuted(),
    };
    const starting = () => AgentProcess.start(deps.clock, marked, sink);
    const { process, release } = await deps.guard.start(mark, starting);
    session.#process = process;
    session.#gone = session.#live(process, (graceMs) => deps.marked.end(mark, graceMs)).finally(release);
    const opened = session.#open(signal);
    try {
      await withTimeout(deps.clock, deps.startupTimeoutMs, `the start of ${deps.dialect.id}`, opened);
    } catch (err) {
      opened.catch(() => {});
      await session.stop(0);
      throw session.#withoutSecrets(err);
    }
    return session;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  /** See `Provider.send`. */
  send(input: AgentInput, signal: AbortSignal): Promise<InputOutcome> {
    return raceSignal(
      this.#book.once(input.requestId, () => this.#accept(input)),
      signal,
    );
  }

  /** See `Provider.stop`. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true;
    if (graceMs > 0 && !this.#over.signal.aborted) this.#conversation.close();
    this.#orphansGraceMs = Math.min(this.#orphansGraceMs, graceMs * ORPHANS_SHARE);
    await this.#process?.stop(graceMs);
    await this.#gone;
  }

  async #open(signal: AbortSignal): Promise<void> {
    try {
      await raceSignal(this.#conversation.open(signal), AbortSignal.any([signal, this.#over.signal]));
    } catch (err) {
      if (signal.aborted || !this.#over.signal.aborted) throw err;
      const said = lastWords(this.#output.lastError, this.#redactor);
      throw new DomainError(
        "precondition",
        `${errorText(this.#over.signal.reason)} before it accepted messages${said}`,
      );
    }
    this.#emit({ type: "phase", state: "idle" });
  }

  async #accept(input: AgentInput): Promise<InputOutcome> {
    if (this.#over.signal.aborted || this.#isStopping) return DEAD;
    const harmless = harmlessText(input.text, this.#command);
    if (harmless.type === "unsafe") return { outcome: "unsafe", error: harmless.reason };
    return this.#giveOrHold({ ...input, text: harmless.text });
  }

  async #giveOrHold(input: AgentInput): Promise<InputOutcome> {
    if (this.#isGiving || !this.#held.isEmpty || !this.#conversation.takesMessages()) {
      this.#held.add(input);
      return QUEUED;
    }
    return this.#give(input);
  }

  async #give(input: AgentInput): Promise<InputOutcome> {
    this.#isGiving = true;
    const limit = { ms: TAKEN_WITHIN_MS, what: "the agent's answer to a message" };
    const give = (stop: AbortSignal) => raceSignal(this.#conversation.give(input, stop), stop);
    try {
      const how = await timedCall(this.#clock, limit, this.#over.signal, give);
      return how === "queued" ? QUEUED : SUBMITTED;
    } catch (err) {
      if (!(err instanceof DomainError)) throw err;
      return { outcome: "unknown", error: this.#redactor.redact(err.message) };
    } finally {
      this.#isGiving = false;
      this.#giveHeld();
    }
  }

  /** Sends held messages as soon as the agent takes one, and reports their outcomes. */
  #giveHeld(): void {
    if (this.#isGiving || this.#isStopping || this.#over.signal.aborted || !this.#conversation.takesMessages()) return;
    const input = this.#held.shift();
    if (input === undefined) return;
    void this.#give(input).then((result) => {
      if (result.outcome !== "queued") this.#settle(input.requestId, result);
    });
  }

  #settle(requestId: string, result: InputOutcome): void {
    this.#emit({ type: "input-settled", requestId, result });
  }

  #emit(event: AgentEvent): void {
    this.events.push(event);
    if (event.type === "phase" && event.state === "idle") this.#giveHeld();
  }

  #onChunk(read: () => void): void {
    read();
    if (this.events.isFull) this.#process?.hold(true);
  }

  #onMuted(): void {
    this.#isMuted = true;
    void this.#process?.stop(ORPHANS_GRACE_MS);
  }

  /** The error contains the agent's last line on stderr, for people who do not read its events. */
  #endedEvent(end: ProcessEnd): AgentEvent {
    const { code: exitCode } = end;
    if (this.#isStopping || (exitCode === 0 && !this.#isMuted)) return { type: "ended", exitCode };
    const how = this.#isMuted ? "the agent closed its output, and was stopped" : describe(end);
    return { type: "ended", error: `${how}${lastWords(this.#output.lastError, this.#redactor)}`, exitCode };
  }

  #withoutSecrets(err: unknown): unknown {
    if (!(err instanceof DomainError)) return err;
    return new DomainError(err.kind, this.#redactor.redact(err.message), { fields: err.fields });
  }

  #write(message: object): Promise<void> {
    const { promise: none, reject } = Promise.withResolvers<void>();
    if (this.#process !== undefined) return this.#process.write(`${JSON.stringify(message)}\n`);
    reject(new DomainError("unavailable", "the agent is not running"));
    return none;
  }

  /** Resolves when the agent and all processes that it left behind have ended, and its last event is reported. */
  async #live(process: AgentProcess, endMarked: (graceMs: number) => Promise<void>): Promise<void> {
    const end = await process.ended;
    this.#output.end();
    const ended = this.#endedEvent(end);
    this.#over.abort(new DomainError("unavailable", describe(end)));
    for (const input of this.#held.drain()) this.#settle(input.requestId, DEAD);
    for (const requestId of this.#conversation.kept()) this.#settle(requestId, LOST);
    // Ends the processes that the agent has left behind; a stop that is under way continues.
    await process.stop(ORPHANS_GRACE_MS);
    await endMarked(this.#orphansGraceMs);
    this.events.push(ended);
    this.events.close();
  }
}

function describe(end: ProcessEnd): string {
  return end.signal === undefined ? `the agent ended with code ${end.code}` : `the agent was ended by ${end.signal}`;
}
