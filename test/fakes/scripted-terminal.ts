import { create, type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { DomainError } from "../../internal/base/errors.ts";
import { SignalBus } from "../../internal/base/signal-bus.ts";
import type { Actor, EncodedMessage, SessionTerminal } from "../../internal/bridge/session-backend.ts";
import type {
  LaunchedTerminal,
  TerminalConfig,
  TerminalEnd,
  TerminalLauncher,
  TerminalSurvivor,
} from "../../internal/bridge/terminal-launcher.ts";
import { EventType, GapReason, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import {
  type SidecarAckEventsRequest,
  type SidecarEvent,
  SidecarEventSchema,
  type SidecarNudgeRequest,
  SidecarNudgeResponseSchema,
  SidecarPeekResponseSchema,
  SidecarService,
  SidecarStatusResponseSchema,
  type SidecarStreamEventsRequest,
} from "../../internal/gen/gastown/v1/sidecar_pb.ts";

type EventInit = Partial<Pick<SidecarEvent, "type" | "text" | "requestId" | "done" | "error" | "receipt">>;

/** A session's sidecar without a process: the test makes its events. */
export class ScriptedTerminal implements LaunchedTerminal, SessionTerminal {
  readonly pid = 4711;
  readonly agent = "rig/crew/ann";
  readonly config: TerminalConfig;
  readonly stops: number[] = [];
  /** The calls with their callers. */
  readonly calls: { readonly method: string; readonly caller: Actor }[] = [];
  /** Positions by caller and subscriber_id. */
  readonly positions = new Map<string, bigint>();
  epoch = "e1";
  /** Whether it ends when it is released. */
  leaves = true;
  /** While set, streams wait for it after their first event. */
  slow: Promise<void> | undefined;
  /** The numbers below this one are lost: a reader that begins before them gets a gap. */
  lostTo = 0n;
  readonly #events: SidecarEvent[] = [];
  readonly #grown = new SignalBus();
  readonly #cut = new SignalBus();
  readonly #ended = Promise.withResolvers<TerminalEnd>();

  constructor(config: TerminalConfig) {
    this.config = config;
    this.tell({ type: EventType.SESSION_STARTED });
  }

  get terminal(): SessionTerminal {
    return this;
  }

  get ended(): Promise<TerminalEnd> {
    return this.#ended.promise;
  }

  tell(...events: readonly EventInit[]): void {
    for (const event of events) {
      const seq = BigInt(this.#events.length + 1);
      this.#events.push(create(SidecarEventSchema, { ...event, seq, epoch: this.epoch, stream: "system" }));
    }
    this.#grown.notify();
  }

  /** Ends all streams, as the end of a serving half does. */
  cut(): void {
    this.#cut.notify();
  }

  end(end: TerminalEnd = {}): void {
    this.#ended.resolve(end);
    this.cut();
  }

  release(): void {
    if (this.leaves) this.end();
  }

  async stop(graceMs: number): Promise<void> {
    this.stops.push(graceMs);
    this.tell({ type: EventType.SESSION_STOPPED, done: true });
    this.end();
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    method: { readonly name: string; readonly output: O },
    request: MessageShape<I>,
    caller: Actor,
  ): Promise<MessageShape<O>> {
    this.calls.push({ method: method.name, caller });
    if (method.name === SidecarService.method.nudge.name) {
      const { message: text, requestId } = request as unknown as SidecarNudgeRequest;
      this.tell({ type: EventType.INPUT_RECEIVED, requestId, text });
      const outcome = NudgeOutcome.SUBMITTED;
      return create(SidecarNudgeResponseSchema, { requestId, outcome, delivered: true }) as unknown as MessageShape<O>;
    }
    if (method.name === SidecarService.method.ackEvents.name) {
      const { subscriberId, ackSeq } = request as unknown as SidecarAckEventsRequest;
      this.positions.set(`${caller.identity} ${subscriberId}`, ackSeq);
    }
    if (method.name === SidecarService.method.peek.name) {
      const output = Array.from({ length: 60 }, (_, i) => `line ${i}`).join("\n");
      return create(SidecarPeekResponseSchema, { output, cols: 80, rows: 24 }) as unknown as MessageShape<O>;
    }
    return create(SidecarStatusResponseSchema, { sessionAlive: true }) as unknown as MessageShape<O>;
  }

  async *stream<I extends DescMessage>(
    method: { readonly name: string },
    request: MessageShape<I>,
    caller: Actor,
    signal: AbortSignal,
  ): AsyncGenerator<EncodedMessage, void> {
    this.calls.push({ method: method.name, caller });
    const { afterSeq, epoch, subscriberId } = request as unknown as SidecarStreamEventsRequest;
    if (epoch !== "" && epoch !== this.epoch) throw new DomainError("precondition", "another epoch");
    const head = this.#events.length;
    if ((afterSeq ?? 0n) > head)
      throw new DomainError("precondition", "ahead of the head", { fields: { head: `${head}` } });
    const stop = new AbortController();
    void this.#cut.next(signal).then(
      () => stop.abort(new DomainError("unavailable", "the connection was cut")),
      () => {},
    );
    const either = AbortSignal.any([signal, stop.signal]);
    let at = afterSeq ?? this.positions.get(`${caller.identity} ${subscriberId}`) ?? 0n;
    for (;;) {
      if (at > 0n) await this.slow;
      either.throwIfAborted();
      if (at < this.lostTo - 1n) {
        const gap = { first: at + 1n, to: this.lostTo, reason: GapReason.RESTART };
        at = this.lostTo - 1n;
        yield encoded({ type: EventType.BUFFER_OVERFLOW, seq: at, epoch: this.epoch, gap });
      }
      const event = this.#events[Number(at)];
      if (event === undefined) await this.#grown.next(either);
      else {
        at = event.seq;
        yield toBinary(SidecarEventSchema, event);
        if (event.done) return;
      }
    }
  }

  async *attach(): AsyncGenerator<never, void> {}

  /** The session ended with the daemon that had started it: that is its only event. */
  lose(error: string): void {
    this.#events.length = 0;
    this.tell({ type: EventType.SESSION_FAILED, error, done: true });
    this.end({ error });
  }

  /** Begins a new epoch, as after a lost journal. */
  beginEpoch(epoch: string): void {
    this.#events.length = 0;
    this.epoch = epoch;
    this.cut();
    this.tell({ type: EventType.SESSION_STARTED });
  }
}

function encoded(init: Parameters<typeof create<typeof SidecarEventSchema>>[1]): Uint8Array {
  return toBinary(SidecarEventSchema, create(SidecarEventSchema, init));
}

export class ScriptedLauncher implements TerminalLauncher {
  readonly terminals: ScriptedTerminal[] = [];
  survivors_: readonly TerminalSurvivor[] = [];
  /** While set, `start` waits for it. */
  hold: Promise<void> | undefined;

  checkOptions(provider: string, options: TerminalConfig["options"]): void {
    if ("model" in options) throw new DomainError("invalid", `${provider} has no option "model" in the mode terminal`);
  }

  async start(config: TerminalConfig): Promise<LaunchedTerminal> {
    await this.hold;
    const terminal = new ScriptedTerminal(config);
    this.terminals.push(terminal);
    return terminal;
  }

  async survivors(): Promise<readonly TerminalSurvivor[]> {
    return this.survivors_;
  }
}
