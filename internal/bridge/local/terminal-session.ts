import { randomUUID } from "node:crypto";
import {
  create,
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  isMessage,
  type MessageShape,
} from "@bufbuild/protobuf";
import { raceSignal } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import type { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import { AgentState, EventType } from "../../gen/gastown/v1/common_pb.ts";
import {
  SidecarAckEventsRequestSchema,
  type SidecarAttachInput,
  type SidecarAttachOutput,
  type SidecarEvent,
  SidecarEventSchema,
  SidecarNudgeRequestSchema,
  SidecarService,
  SidecarStatusRequestSchema,
  type SidecarStatusResponse,
  SidecarStreamEventsRequestSchema,
  SidecarWatchRequestSchema,
  WatchMode,
} from "../../gen/gastown/v1/sidecar_pb.ts";
import type { EventsRequest } from "../../session/events.ts";
import type { EventSession } from "../../wire/event.ts";
import { eventReceipt, nudgeReceipt } from "../../wire/nudge.ts";
import type { MirrorLogOptions } from "../events/mirror-log.ts";
import { MirroredEvents } from "../events/mirrored-events.ts";
import type { Actor, EncodedMessage, InputRequest, InputResult, SessionTerminal } from "../session-backend.ts";
import type { LaunchedTerminal } from "../terminal-launcher.ts";
import type { AckedPosition, AgentEnd, AgentListener, AgentSession } from "./agent-session.ts";
import { type FinalSnapshot, snapshotTerminal, takeFinalSnapshot } from "./final-snapshot.ts";
import { RecordedReceipts } from "./recorded-receipts.ts";
import { SharedCall } from "./shared-call.ts";
import { SharedScreens } from "./shared-screens.ts";
import { headAtSidecar } from "./sidecar-head.ts";

export interface TerminalSessionDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly session: EventSession;
  readonly launch: (signal: AbortSignal) => Promise<LaunchedTerminal>;
  readonly listener: AgentListener;
  /** An earlier process started the session: its sidecar knows positions that this process does not. */
  readonly isSurvivor: boolean;
}

/** Time for the first event of a sidecar that answers Status. */
const FIRST_EVENT_MS = 2000;
/** Time for all events that a sidecar holds. */
const CATCH_UP_MS = 10_000;
/** Time for the event that belongs to a response of the sidecar. */
const EVENT_MS = 1000;
/** The most inputs whose INPUT_RECEIVED event is remembered. */
const MAX_INPUTS = 10_000;

/** Time for a released sidecar to end after the last event. */
const LEAVE_MS = 15_000;
/** Time for a sidecar to send the first event that a subscriber has not acknowledged. */
const POSITION_MS = 500;

const { nudge, sendKeys, respond, ackEvents, streamEvents, watchOutput, status } = SidecarService.method;
/** The caller that the bridge names in calls to the sidecar whose answers all callers share. */
const WATCHERS: Actor = { identity: "bridge", role: "read" };
/** Methods that give an agent input. */
const INPUTS: ReadonlySet<unknown> = new Set([nudge, sendKeys, respond]);
const SCREENS: ReadonlySet<WatchMode> = new Set([WatchMode.UNSPECIFIED, WatchMode.SCREEN]);

/**
 * States that do not count as idle, whether the agent prints or not. In an uncertain state, only output and input show
 * activity.
 */
const OCCUPIED: ReadonlySet<AgentState> = new Set([
  ...[AgentState.STARTING, AgentState.BUSY, AgentState.DIALOG, AgentState.PARKED, AgentState.STOPPING],
  AgentState.STALLED,
]);

/** An agent in its own terminal, behind a sidecar. */
export class TerminalSession implements AgentSession {
  readonly hasTerminal = true;
  readonly log: MirroredEvents;
  readonly #deps: TerminalSessionDeps;
  readonly #life = new AbortController();
  readonly #told = new SignalBus();
  /** Sequence numbers of INPUT_RECEIVED events by request id; the oldest first. */
  readonly #inputs = new Map<string, bigint>();
  #launched: LaunchedTerminal | undefined;
  #terminal: SessionTerminal | undefined;
  #mirroring: Promise<void> | undefined;
  #starts = 0;
  #state: AgentState = AgentState.UNSPECIFIED;
  #hasDialog = false;
  readonly #receipts = new RecordedReceipts();
  #finalSnapshot: FinalSnapshot | undefined;
  #agentSessionId = "";

  constructor(deps: TerminalSessionDeps, options: MirrorLogOptions) {
    this.#deps = deps;
    const { clock, session } = deps;
    this.log = new MirroredEvents({ clock, session, onEvent: (event) => this.#heard(event) }, options);
  }

  get terminal(): SessionTerminal | undefined {
    return this.#terminal;
  }

  terminalAtEnd(why: () => DomainError): SessionTerminal {
    const { session } = this.#deps;
    return snapshotTerminal({ look: this.#finalSnapshot, receipts: this.#receipts, session }, why);
  }

  get isOccupied(): boolean {
    return this.#hasDialog || OCCUPIED.has(this.#state);
  }

  get agent(): string {
    return this.#launched?.agent ?? "";
  }

  get restarts(): number {
    return Math.max(0, this.#starts - 1);
  }

  get agentSessionId(): string {
    return this.#agentSessionId;
  }

  async refresh(signal: AbortSignal): Promise<void> {
    const asked = this.#terminal?.unary(status, create(SidecarStatusRequestSchema), WATCHERS, signal);
    await asked?.catch(() => {});
  }

  #describe({ agentSessionId }: SidecarStatusResponse): void {
    this.#agentSessionId = agentSessionId;
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#launched = await this.#deps.launch(signal);
    const { terminal } = this.#launched;
    this.#terminal = withActivity(terminal, this.#deps.listener, (status) => this.#describe(status));
    this.#mirroring = this.log.run(terminal, this.#life.signal);
    await this.#caughtUp(terminal);
  }

  async ended(): Promise<AgentEnd> {
    const { error, isUnknown } = (await this.#launched?.ended) ?? {};
    await this.#until(() => this.log.isOver, EVENT_MS);
    if (error !== undefined || isUnknown !== true) return { error };
    return { error: this.log.isOver ? this.log.failure : "its sidecar ended without a message" };
  }

  async send({ text, idempotencyKey }: InputRequest, caller: Actor, signal: AbortSignal): Promise<InputResult> {
    const requestId = idempotencyKey || randomUUID();
    const request = create(SidecarNudgeRequestSchema, { message: text, requestId });
    const { terminal } = this.#launched as LaunchedTerminal;
    const { outcome, error } = nudgeReceipt(await terminal.unary(nudge, request, caller, signal), caller.identity);
    await raceSignal(
      this.#until(() => this.#inputs.has(requestId), EVENT_MS),
      signal,
    );
    return { outcome, error, seq: this.#inputs.get(requestId) ?? 0n };
  }

  async recallPosition({ after, subscriber, owner }: EventsRequest, caller: Actor, signal: AbortSignal): Promise<void> {
    const who = { owner, subscriber };
    if (!this.#deps.isSurvivor || after !== undefined || subscriber === "" || this.log.positionOf(who) > 0n) return;
    const seq = await this.#positionAtSidecar(subscriber, caller, signal);
    if (seq > 0n && seq <= this.log.head) this.log.acknowledge(who, seq, this.log.epoch);
  }

  async keepPosition({ subscriber, seq, epoch }: AckedPosition, caller: Actor, signal: AbortSignal): Promise<void> {
    const request = create(SidecarAckEventsRequestSchema, { subscriberId: subscriber, ackSeq: seq, epoch });
    // Without a sidecar, the position is kept by this process only.
    await this.#launched?.terminal.unary(ackEvents, request, caller, signal).catch(() => {});
  }

  async stop(graceMs: number): Promise<void> {
    await this.#launched?.stop(graceMs);
  }

  async finish({ error }: AgentEnd): Promise<void> {
    this.log.finish(error);
    this.#life.abort();
    await this.#mirroring;
  }

  #heard(event: SidecarEvent): void {
    const { listener } = this.#deps;
    listener.active();
    switch (event.type) {
      case EventType.SESSION_STARTED:
        this.#starts++;
        break;
      case EventType.INPUT_RECEIVED:
        this.#received(event.requestId, event.seq);
        break;
      case EventType.NUDGE_RECEIPT:
        if (event.receipt) this.#receipts.record(event.receipt);
        listener.changed(event.receipt && eventReceipt(event.receipt));
        break;
      case EventType.PHASE_CHANGED:
        this.#state = event.state;
        listener.changed();
        break;
      case EventType.DIALOG_OPENED:
      case EventType.DIALOG_CLOSED:
        this.#hasDialog = event.type === EventType.DIALOG_OPENED;
        listener.changed();
        break;
      default:
        break;
    }
    if (event.done) void this.#leave();
    this.#told.notify();
  }

  /**
   * After the last event, the sidecar lingers so that its final state can be read. Reads that, releases the sidecar,
   * and kills it if it does not end.
   */
  async #leave(): Promise<void> {
    const { clock } = this.#deps;
    const launched = this.#launched;
    if (launched === undefined) return;
    this.#finalSnapshot = await takeFinalSnapshot(clock, launched.terminal);
    if (this.#finalSnapshot !== undefined) this.#describe(this.#finalSnapshot.status);
    launched.release();
    await clock.sleep(LEAVE_MS, this.#life.signal).catch(() => {});
    if (!this.#life.signal.aborted) await this.stop(0);
  }

  #received(requestId: string, seq: bigint): void {
    this.#inputs.set(requestId, seq);
    const [oldest] = this.#inputs.keys();
    if (this.#inputs.size > MAX_INPUTS && oldest !== undefined) this.#inputs.delete(oldest);
  }

  /**
   * The position of a subscriber at the sidecar: just before the first event that its stream sends, or the last event
   * if it sends none in time. 0: the sidecar cannot be asked.
   */
  async #positionAtSidecar(subscriberId: string, caller: Actor, signal: AbortSignal): Promise<bigint> {
    const { terminal } = this.#launched as LaunchedTerminal;
    const { head, epoch } = this.log;
    const stop = new AbortController();
    const late = this.#deps.clock.sleep(POSITION_MS, stop.signal).then(
      () => stop.abort(),
      () => {},
    );
    const request = create(SidecarStreamEventsRequestSchema, { subscriberId, epoch });
    try {
      const messages = terminal.stream(streamEvents, request, caller, AbortSignal.any([signal, stop.signal]));
      for await (const payload of messages) {
        const { seq, gap } = fromBinary(SidecarEventSchema, payload);
        return (gap === undefined ? seq : gap.first) - 1n;
      }
      return head;
    } catch {
      signal.throwIfAborted();
      return stop.signal.aborted ? head : 0n;
    } finally {
      stop.abort();
      await late;
    }
  }

  /**
   * Resolves when the first event has arrived; for a survivor, when all events so far have, because its readers may
   * know positions.
   */
  async #caughtUp(terminal: SessionTerminal): Promise<void> {
    const { clock, isSurvivor } = this.#deps;
    const head = isSurvivor ? ((await headAtSidecar(clock, terminal, FIRST_EVENT_MS)) ?? 1n) : 1n;
    await this.#until(() => this.log.head >= head || this.log.isOver, isSurvivor ? CATCH_UP_MS : FIRST_EVENT_MS);
  }

  /** Waits until an event makes `isTrue` return true, for at most `ms`. */
  async #until(isTrue: () => boolean, ms: number): Promise<void> {
    const { clock } = this.#deps;
    const end = clock.monotonicMs() + ms;
    for (let left = ms; left > 0 && !isTrue(); left = end - clock.monotonicMs()) {
      await this.#told.nextOrAfter(left, clock, this.#life.signal).catch(() => {});
      if (this.#life.signal.aborted) return;
    }
  }
}

/**
 * Wraps a terminal: input through it counts as activity of the session, and an open stream as attendance; callers share
 * Status calls and streams of the screen. `onStatus` is called with each status.
 */
function withActivity(
  terminal: SessionTerminal,
  { active, attended }: AgentListener,
  onStatus: (status: SidecarStatusResponse) => void,
): SessionTerminal {
  const screens = new SharedScreens((request, signal) => terminal.stream(watchOutput, request, WATCHERS, signal));
  const statuses = new SharedCall(async (signal) => {
    const answer = await terminal.unary(status, create(SidecarStatusRequestSchema), WATCHERS, signal);
    onStatus(answer);
    return answer;
  });
  async function* counted(inputs: AsyncIterable<SidecarAttachInput>): AsyncGenerator<SidecarAttachInput> {
    for await (const input of inputs) {
      active();
      yield input;
    }
  }
  async function* whileAttended<T>(messages: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
    using _attending = attended();
    yield* messages;
  }
  return {
    async unary<I extends DescMessage, O extends DescMessage>(
      method: DescMethodUnary<I, O>,
      request: MessageShape<I>,
      caller: Actor,
      signal: AbortSignal,
    ): Promise<MessageShape<O>> {
      if (INPUTS.has(method)) active();
      if ((method as unknown) === status) return (await statuses.ask(signal)) as unknown as MessageShape<O>;
      return terminal.unary(method, request, caller, signal);
    },
    stream<I extends DescMessage, O extends DescMessage>(
      method: DescMethodServerStreaming<I, O>,
      request: MessageShape<I>,
      caller: Actor,
      signal: AbortSignal,
    ): AsyncIterable<EncodedMessage> {
      const isScreen = (method as unknown) === watchOutput && isMessage(request, SidecarWatchRequestSchema);
      if (isScreen && SCREENS.has(request.mode)) return whileAttended(screens.watch(request, signal));
      return whileAttended(terminal.stream(method, request, caller, signal));
    },
    attach: (inputs, caller, signal): AsyncIterable<SidecarAttachOutput> =>
      whileAttended(terminal.attach(counted(inputs), caller, signal)),
  };
}
