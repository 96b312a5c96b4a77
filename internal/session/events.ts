import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import type { MachineTime } from "../base/machine-time.ts";
import type { Redactor } from "../base/redact.ts";
import { plainText } from "../base/sanitise.ts";
import { runTasks, type Task } from "../base/task-group.ts";
import { Cursors, type Subscriber } from "../eventlog/cursors.ts";
import { EventLog } from "../eventlog/event-log.ts";
import { follow } from "../eventlog/follow.ts";
import { checkPosition, type EventSource, type FollowRequest, LogCursor } from "../eventlog/log-cursor.ts";
import { cursorRecord, type EventRecord, type RestoredEvents, reservationRecord } from "./event-records.ts";
import type { FollowedEvent, SessionEvent } from "./event-types.ts";
import type { AcceptedNudge } from "./nudge-record.ts";
import { OutputText } from "./output-text.ts";
import { checkAcknowledgement, checkSubscriber, SUBSCRIBER_LIMITS } from "./subscriber.ts";
import type { AgentStateName, BackgroundTask, Dialog, NudgeReceipt } from "./types.ts";

export interface SessionEventsDeps {
  readonly clock: Clock;
  /** Gives the ages of subscribers' positions. */
  readonly time: MachineTime;
  readonly redactor: Redactor;
  /** Stores a record so that it outlives this process; false if that failed. */
  readonly keep: (record: EventRecord) => boolean;
}

/** The stream that a program has printed to; a terminal has stdout only. */
export type StdStream = "stdout" | "stderr";

export interface SessionEventsOptions {
  readonly eventBuffer: number;
  readonly eventBytes: number;
}

/** A StreamEvents request in domain types. */
export interface EventsRequest {
  readonly after?: bigint | undefined;
  /** Empty: none. */
  readonly subscriber: string;
  /** The subscriber's owner; empty: callers cannot be distinguished. */
  readonly owner: string;
  readonly epoch: string;
}

/** The most background tasks that an event names. */
const MAX_NAMED = 10;
/** The memory of an event besides its text, roughly. */
const EVENT_BYTES = 256;

/**
 * The events of one agent's session: takes them, removes secrets and gives them to readers; see `EventLog` for the
 * guarantees to readers. Text of the terminal comes in through `print` and precedes every event added after it.
 */
export class SessionEvents implements Task {
  readonly #deps: SessionEventsDeps;
  readonly #log: EventLog<SessionEvent>;
  readonly #cursors: Cursors;
  readonly #text: Readonly<Record<StdStream, OutputText>>;
  #epoch: string;
  #ended: string | undefined;
  #wasLost = false;

  constructor(deps: SessionEventsDeps, options: SessionEventsOptions, restored: RestoredEvents) {
    this.#deps = deps;
    this.#cursors = new Cursors(
      SUBSCRIBER_LIMITS,
      restored.cursors.map(({ moment, ...cursor }) => ({ ...cursor, at: deps.time.atMs(moment) })),
    );
    this.#log = new EventLog<SessionEvent>(
      { keep: (reservation) => deps.keep(reservationRecord(reservation)) },
      { maxEvents: options.eventBuffer, maxBytes: options.eventBytes, before: restored.reservation },
    );
    this.#epoch = this.#log.epoch;
    if (this.#epoch !== restored.reservation?.epoch) this.#cursors.clear();
    const { clock, redactor } = deps;
    const textOf = (type: StdStream) =>
      new OutputText({ clock, redactor, emit: (text) => this.#append({ ...this.#now, type, text }) });
    this.#text = { stdout: textOf("stdout"), stderr: textOf("stderr") };
  }

  get epoch(): string {
    return this.#log.epoch;
  }

  /** The last event's number. */
  get head(): bigint {
    return this.#log.head;
  }

  get bytes(): number {
    return this.#log.bytes;
  }

  /** True once the last event has been added. */
  get isOver(): boolean {
    return this.#log.closed;
  }

  /** For readers who take events without waiting for each; see `open`. */
  get log(): EventSource<SessionEvent> {
    return this.#log;
  }

  run(signal: AbortSignal): Promise<void> {
    return runTasks(signal, Object.values(this.#text));
  }

  /** Adds output that became final: whole lines of a terminal, or text as a program printed it. */
  print(text: string, stream: StdStream = "stdout"): void {
    this.#wasLost = false;
    this.#text[stream].push(text);
  }

  /** Puts all text printed so far into the log before it returns. */
  flush(): void {
    this.#text.stdout.flush();
    this.#text.stderr.flush();
  }

  /** Adds an event for output that never became lines; only one until more is printed. */
  lost(reason: "restart" | "truncated", error: string): void {
    if (this.#wasLost) return;
    this.#add({ ...this.#now, type: "output-lost", reason, error });
    this.#wasLost = true;
  }

  started(): void {
    this.#add({ ...this.#now, type: "session-started" });
  }

  /** Adds the agent's end. `error`: it failed. With `done` the log is closed and accepts no more events. */
  stopped({ done, error }: { readonly done: boolean; readonly error?: string | undefined }): void {
    if (error === undefined) this.#add({ ...this.#now, type: "session-stopped", done });
    else this.#add({ ...this.#now, type: "session-failed", done, error: this.#clean(error) });
    if (done) this.#log.close();
  }

  accepted({ requestId, message, acceptedAt }: Pick<AcceptedNudge, "requestId" | "message" | "acceptedAt">): void {
    this.#add({ at: acceptedAt, type: "input-received", requestId, text: this.#clean(message) });
  }

  receipt(receipt: NudgeReceipt): void {
    this.#add({ ...this.#now, type: "nudge-receipt", receipt: { ...receipt, error: this.#clean(receipt.error) } });
  }

  /** `at`: the start of the phase, wall clock, ms. */
  phase(state: AgentStateName, at: number, background: readonly BackgroundTask[] = []): void {
    this.#add({ at, type: "phase-changed", state, text: this.#clean(backgroundText(background)) });
  }

  /** Reports that the background tasks of an idle agent have changed. */
  background(tasks: readonly BackgroundTask[]): void {
    this.phase("idle", this.#deps.clock.now(), tasks);
  }

  /** Returns the dialog in the form that is kept: without secrets. */
  dialog(type: "dialog-opened" | "dialog-closed", dialog: Dialog): Dialog {
    const { title, text, choices } = dialog;
    const clean = {
      title: this.#clean(title),
      text: this.#clean(text),
      choices: choices.map((choice) => ({ ...choice, label: this.#clean(choice.label) })),
    };
    const kept = { ...dialog, ...clean };
    this.#add({ ...this.#now, type, dialog: kept });
    return kept;
  }

  /** Ends the log in this process: readers get the remaining events, then an error with this reason. */
  end(reason: string): void {
    if (this.#log.closed) return;
    this.#ended = reason;
    this.flush();
    this.#log.close();
  }

  /**
   * Yields the events after the request's position, which is resolved at once, then live ones; ends after the session's
   * last event.
   * @throws DomainError `precondition`, `invalid` (the subscriber's name); while the stream is read also `unavailable`,
   * if this process ends.
   */
  follow(request: EventsRequest, signal: AbortSignal): AsyncGenerator<FollowedEvent, void> {
    return this.#toEnd(follow(this.#log, this.#from(request), signal));
  }

  /**
   * A cursor at the same position, for a reader that reads `log` at its own pace.
   * @throws DomainError `precondition`, `invalid`
   */
  open(request: EventsRequest): LogCursor<SessionEvent> {
    return LogCursor.open(this.#log, this.#from(request));
  }

  async *#toEnd(followed: AsyncGenerator<FollowedEvent, void>): AsyncGenerator<FollowedEvent, void> {
    yield* followed;
    if (this.#ended !== undefined) throw new DomainError("unavailable", this.#ended);
  }

  /**
   * Records that a subscriber is done with all events up to `seq`. A lower number than the acknowledged one changes
   * nothing.
   * @throws DomainError `invalid`, `precondition`
   */
  acknowledge({ owner, subscriber }: Subscriber, seq: bigint, epoch: string): void {
    checkAcknowledgement(subscriber, epoch);
    checkPosition(this.#log, epoch, seq);
    const cursor = this.#cursors.advance({ owner, subscriber }, seq, this.#deps.time.nowMs());
    if (cursor !== undefined) this.#deps.keep(cursorRecord(epoch, cursor, this.#deps.time));
  }

  /** The shortest list of records with the same meaning, without the standing lines. */
  records(): readonly EventRecord[] {
    const { reservation } = this.#log;
    if (reservation === undefined) return [];
    const { time } = this.#deps;
    const cursors = this.#cursors.list(time.nowMs());
    return [reservationRecord(reservation), ...cursors.map((cursor) => cursorRecord(reservation.epoch, cursor, time))];
  }

  #from(request: EventsRequest): FollowRequest {
    return { epoch: request.epoch, after: request.after ?? this.#positionOf(request) };
  }

  #positionOf({ owner, subscriber }: Subscriber): bigint | undefined {
    if (subscriber === "") return undefined;
    checkSubscriber(subscriber);
    return this.#cursors.position({ owner, subscriber }, this.#deps.time.nowMs());
  }

  get #now(): { readonly at: number } {
    return { at: this.#deps.clock.now() };
  }

  #clean(text: string): string {
    return this.#deps.redactor.redact(plainText(text));
  }

  #add(event: SessionEvent): void {
    this.flush();
    this.#append(event);
  }

  #append(event: SessionEvent): void {
    this.#log.append(event, EVENT_BYTES + 2 * charsOf(event));
    if (this.#log.epoch === this.#epoch) return;
    this.#epoch = this.#log.epoch;
    this.#cursors.clear();
  }
}

/** `2 in the background: shell: npm run dev; subagent: Looks around`. */
function backgroundText(tasks: readonly BackgroundTask[]): string {
  if (tasks.length === 0) return "";
  const named = tasks.slice(0, MAX_NAMED).map(({ kind, title }) => (title === "" ? kind : `${kind}: ${title}`));
  const more = tasks.length > MAX_NAMED ? "; …" : "";
  return `${tasks.length} in the background: ${named.join("; ")}${more}`;
}

function charsOf(event: SessionEvent): number {
  if ("text" in event) return event.text.length;
  if (event.type === "dialog-opened" || event.type === "dialog-closed") return JSON.stringify(event.dialog).length;
  if (event.type === "nudge-receipt") return JSON.stringify(event.receipt).length;
  return 0;
}
