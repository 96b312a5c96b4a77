import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { raceSignal } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError, errorText } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { MachineTime } from "../../base/machine-time.ts";
import type { Redactor } from "../../base/redact.ts";
import { SessionEvents, type SessionEventsOptions } from "../../session/events.ts";
import { ID } from "../../session/ids.ts";
import type { AgentStateName, Dialog, NudgeReceipt } from "../../session/types.ts";
import { EncodedEvents } from "../events/session-log.ts";
import type { AgentEvent, InputOutcome, Provider, SessionConfig, SessionHandle } from "../provider.ts";
import type { Actor, AgentActivity, InputRequest, InputResult } from "../session-backend.ts";
import type { AgentEnd, AgentListener, AgentSession } from "./agent-session.ts";
import { InputLedger, type LedgerEntry } from "./input-ledger.ts";

export interface StdioSessionDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly redactor: Redactor;
  readonly provider: Provider;
  readonly listener: AgentListener;
  /** Address of the agent. */
  readonly agent: string;
}

/** After this much text, yield to other work of the process. */
const TURN_CHARS = 64 * 1024;
/** Time for a stopped agent to report its end. */
const LAST_WORDS_MS = 2000;

/** States that do not count as idle. In an uncertain state, only output and input show activity. */
const OCCUPIED: ReadonlySet<AgentStateName | undefined> = new Set<AgentStateName>([
  ...(["starting", "busy", "dialog", "parked", "stopping", "stalled"] as const),
]);

/** An agent that speaks its own protocol on its standard streams. */
export class StdioSession implements AgentSession {
  readonly log: EncodedEvents;
  readonly hasTerminal = false;
  readonly terminal = undefined;
  readonly agent: string;
  readonly restarts = 0;
  agentSessionId = "";
  readonly #deps: StdioSessionDeps;
  readonly #config: SessionConfig;
  readonly #events: SessionEvents;
  readonly #ledger = new InputLedger();
  /** Aborted after the session's last event. */
  readonly #life = new AbortController();
  readonly #stopped = Promise.withResolvers<AgentEnd>();
  /** The run of `#events`, which writes pending text. */
  #writing: Promise<void> | undefined;
  #handle: SessionHandle | undefined;
  #activity: AgentActivity | undefined;

  constructor(deps: StdioSessionDeps, config: SessionConfig, options: SessionEventsOptions) {
    const { clock, redactor, provider } = deps;
    this.#deps = deps;
    this.#config = config;
    this.agent = deps.agent;
    const time = new MachineTime(clock, { id: "", upMs: clock.monotonicMs() });
    const nothing = { cursors: [], standing: { lines: [] } };
    this.#events = new SessionEvents({ clock, time, redactor, keep: () => true }, options, nothing);
    const session = { sessionId: config.sessionId, projectId: config.project, provider: provider.id };
    this.log = new EncodedEvents({ clock, events: this.#events, session });
  }

  get activity(): AgentActivity | undefined {
    return this.#activity;
  }

  get isOccupied(): boolean {
    return this.#activity?.dialog !== undefined || OCCUPIED.has(this.#activity?.state);
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#handle = await this.#deps.provider.start(this.#config, signal);
    this.#events.started();
    this.#writing = this.#events.run(this.#life.signal);
  }

  async ended(): Promise<AgentEnd> {
    return Promise.race([this.#read(), this.#stopped.promise]);
  }

  async send({ text, idempotencyKey }: InputRequest, caller: Actor, signal: AbortSignal): Promise<InputResult> {
    const requestId = idempotencyKey || randomUUID();
    const known = this.#ledger.find(requestId, text, this.#deps.clock.monotonicMs());
    const entry = known ?? this.#accept(requestId, text, caller);
    if (entry.answered !== undefined) await raceSignal(entry.answered.promise, signal);
    const { outcome = "unknown", seq, error } = entry;
    return { outcome, seq, error };
  }

  /** There is nothing to restore: neither the agent nor a position outlives this process. */
  async recallPosition(): Promise<void> {}

  async keepPosition(): Promise<void> {}

  async stop(graceMs: number): Promise<void> {
    if (this.#handle === undefined) return;
    await this.#deps.provider.stop(this.#handle, graceMs);
    await this.#deps.clock.sleep(LAST_WORDS_MS, this.#life.signal).catch(() => {});
    this.#stopped.resolve({});
  }

  async finish({ error }: AgentEnd): Promise<void> {
    for (const entry of [...this.#ledger.open()])
      this.#settle(entry, { outcome: "agent-dead", error: "the agent ended before it accepted the input" });
    this.#events.stopped({ done: true, error });
    this.#life.abort();
    await this.#writing;
  }

  #accept(requestId: string, text: string, { identity }: Actor): LedgerEntry {
    this.#ledger.makeRoom(identity);
    const { clock } = this.#deps;
    this.#events.accepted({ requestId, message: text, acceptedAt: clock.now() });
    const acceptedAt = clock.monotonicMs();
    const entry = this.#ledger.add({ requestId, owner: identity, acceptedAt, seq: this.#events.head }, text);
    this.#deps.listener.active();
    void this.#deliver(entry, text);
    return entry;
  }

  async #deliver(entry: LedgerEntry, text: string): Promise<void> {
    const result = await this.#give({ text, requestId: entry.requestId });
    // An event may have reported the outcome already.
    if (entry.outcome === undefined) this.#settle(entry, result);
  }

  async #give(input: { readonly text: string; readonly requestId: string }): Promise<InputOutcome> {
    const { provider, logger } = this.#deps;
    try {
      return await provider.send(this.#handle as SessionHandle, input, this.#life.signal);
    } catch (err) {
      if (this.#life.signal.aborted) return { outcome: "agent-dead", error: "the session ended" };
      if (err instanceof DomainError) return { outcome: "unknown", error: err.message };
      logger.error({ err, provider: provider.id }, "a provider failed to send because of a bug");
      return { outcome: "unknown", error: "internal error" };
    }
  }

  #settle(entry: LedgerEntry, { outcome, error }: InputOutcome): void {
    entry.outcome = outcome;
    entry.error = error;
    entry.answered?.resolve();
    delete entry.answered;
    if (outcome === "queued") return;
    const receipt = this.#receiptOf(entry, { outcome, error });
    this.#events.receipt(receipt);
    this.#deps.listener.changed(receipt);
  }

  #receiptOf({ requestId, owner, acceptedAt }: LedgerEntry, { outcome, error }: InputOutcome): NudgeReceipt {
    const took = Math.round(this.#deps.clock.monotonicMs() - acceptedAt);
    const taken = {
      source: "output",
      value: "accepted by the agent's protocol",
      ageMs: 0,
      confidence: "proof",
    } as const;
    return {
      ...{ requestId, outcome, error, sender: owner, queuePosition: 0 },
      evidence: outcome === "submitted" ? [taken] : [],
      timings: outcome === "submitted" ? { submittedMs: took, confirmedMs: took } : {},
    };
  }

  async #read(): Promise<AgentEnd> {
    const { provider, logger } = this.#deps;
    let chars = 0;
    try {
      for await (const event of provider.events(this.#handle as SessionHandle)) {
        if (event.type === "ended") return { error: event.error };
        this.#take(event);
        chars += event.type === "output" ? event.text.length : 0;
        if (chars < TURN_CHARS) continue;
        chars = 0;
        await setImmediate();
      }
      return {};
    } catch (err) {
      if (!(err instanceof DomainError)) logger.error({ err, provider: provider.id }, "a provider's events failed");
      return {
        error: `the agent's output cannot be read: ${err instanceof DomainError ? errorText(err) : "internal error"}`,
      };
    }
  }

  #take(event: Exclude<AgentEvent, { type: "ended" }>): void {
    if (this.#life.signal.aborted) return;
    this.#deps.listener.active();
    switch (event.type) {
      case "output":
        this.#events.print(event.text, event.stream);
        return;
      case "lost":
        this.#events.lost("truncated", `at least ${event.bytes} bytes of ${event.stream}: ${event.reason}`);
        return;
      case "phase":
        this.#enter(event.state);
        return;
      case "session":
        if (!ID.test(event.id)) return;
        this.agentSessionId = event.id;
        this.#deps.listener.changed();
        return;
      case "dialog-opened":
      case "dialog-closed":
        this.#ask(event.type, event.dialog);
        return;
      case "input-settled":
        this.#settled(event.requestId, event.result);
    }
  }

  #enter(state: AgentStateName): void {
    const since = this.#deps.clock.now();
    this.#activity = { ...this.#activity, state, since };
    this.#events.phase(state, since);
    this.#deps.listener.changed();
  }

  #ask(type: "dialog-opened" | "dialog-closed", asked: Dialog): void {
    const dialog = this.#events.dialog(type, asked);
    const { state, since } = this.#activity ?? ({ state: "uncertain", since: dialog.since } as const);
    this.#activity = { state, since, dialog: type === "dialog-opened" ? dialog : undefined };
    this.#deps.listener.changed();
  }

  #settled(requestId: string, result: InputOutcome): void {
    const entry = this.#ledger.get(requestId);
    if (entry === undefined || (entry.outcome !== undefined && entry.outcome !== "queued")) return;
    this.#settle(entry, result);
  }
}
