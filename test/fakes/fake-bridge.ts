import { create } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { projectRefusal, sessionRefusal } from "../../internal/auth/bridge-policy.ts";
import { raceSignal } from "../../internal/base/abort.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { SignalBus } from "../../internal/base/signal-bus.ts";
import {
  BridgeService,
  EventType,
  type GetSessionResponse,
  GetSessionResponseSchema,
  type SessionEvent,
  SessionEventSchema,
  SessionStatus,
  type StartSessionRequest,
  type StreamEventsRequest,
} from "../../internal/gen/bridge/v1/bridge_pb.ts";
import { AgentState, GapReason, NudgeOutcome } from "../../internal/gen/gastown/v1/common_pb.ts";
import type { Routes } from "../../internal/rpc/server/adapter.ts";
import { sendHead } from "../../internal/rpc/server/response-head.ts";
import { type FakeSession, terminalCalls } from "./fake-terminal-calls.ts";
import { claimsOf } from "./two-layer-server.ts";

type EventFields = Partial<Pick<SessionEvent, "type" | "stream" | "done" | "requestId" | "error">>;
type SessionFields = Partial<Pick<GetSessionResponse, "provider" | "repoPath" | "agentOpts" | "agent">>;
type Standing = Partial<Pick<GetSessionResponse, "status" | "reason" | "error">>;

/** BridgeService without agents: each input is echoed as an event. The test changes the sessions' contents. */
export class FakeBridge {
  readonly #sessions = new Map<string, FakeSession>();
  readonly #changed = new SignalBus();
  /** Names of the RPCs that reached a handler, newest last. */
  readonly calls: string[] = [];
  /** The errors for the next calls of an RPC. */
  readonly failures = new Map<string, DomainError[]>();
  /** The number of open event streams. */
  openStreams = 0;
  /** The ids of sessions without a terminal. */
  readonly noTerminal = new Set<string>();
  /** The initial state of sessions that callers start; default: running. */
  startsAs: Standing = {};
  /** Why a list of sessions may lack some. */
  incomplete = "";
  #watches = 0;

  readonly routes: Routes = (router) => {
    router.service(
      BridgeService,
      counted(this.#service(), (name) => this.#called(name)),
    );
  };

  /** Adds an event to a session's log. */
  emit(id: string, text: string, more: EventFields = {}): void {
    const session = this.#must(id);
    const seq = session.info.lastSeq + 1n;
    const { projectId, provider } = session.info;
    const fixed = { seq, epoch: session.epoch, sessionId: id, projectId, provider, timestamp: timestampNow() };
    session.events.push(
      create(SessionEventSchema, { type: EventType.STDOUT, stream: "stdout", text, ...fixed, ...more }),
    );
    session.info.lastSeq = seq;
    session.ended ||= more.done ?? false;
    session.changed.notify();
  }

  /** Drops all but the newest `count` events. */
  forget(id: string, count: number): void {
    const session = this.#must(id);
    session.events = session.events.slice(session.events.length - count);
  }

  /** Restarts the session's log, as after a crash that lost it. */
  newEpoch(id: string, epoch: string): void {
    const session = this.#must(id);
    session.epoch = epoch;
    session.info.epoch = epoch;
    session.info.lastSeq = 0n;
    session.events = [];
    session.acked.clear();
    session.changed.notify();
  }

  acked(id: string, subscriber: string): bigint {
    return this.#must(id).acked.get(subscriber) ?? 0n;
  }

  keysOf(id: string): readonly string[] {
    return this.#must(id).keys;
  }

  /** Adds a session that no caller has started. */
  add(id: string, project: string, more: SessionFields = {}): void {
    const info = create(GetSessionResponseSchema, {
      ...{ sessionId: id, projectId: project, provider: "demo", status: SessionStatus.RUNNING },
      ...{ createdAt: timestampNow(), epoch: "e1", ...more },
    });
    const maps = { acked: new Map<string, bigint>(), nudges: new Map<string, string>() };
    this.#sessions.set(id, {
      info,
      epoch: "e1",
      events: [],
      changed: new SignalBus(),
      ...maps,
      keys: [],
      ended: false,
    });
    this.#changed.notify();
  }

  becomes(id: string, standing: Standing): void {
    Object.assign(this.#must(id).info, standing);
    this.#changed.notify();
  }

  has(id: string): boolean {
    return this.#sessions.has(id);
  }

  /** Waits until a caller watches the sessions. */
  async watched(): Promise<void> {
    while (this.#watches === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  remove(id: string): void {
    this.#sessions.delete(id);
    this.#changed.notify();
  }

  #called(name: string): void {
    this.calls.push(name);
    const failure = this.failures.get(name)?.shift();
    if (failure !== undefined) throw failure;
  }

  #must(id: string): FakeSession {
    const session = this.#sessions.get(id);
    if (session === undefined) throw new Error(`no session ${id}`);
    return session;
  }

  #find(id: string, context: HandlerContext): FakeSession {
    const session = this.#sessions.get(id);
    const refusal = sessionRefusal(claimsOf(context), id, session && { project: session.info.projectId });
    if (refusal) throw refusal;
    return this.#must(id);
  }

  #start(request: StartSessionRequest, context: HandlerContext) {
    const { sessionId, projectId, provider, repoPath, agentOpts } = request;
    const refusal = projectRefusal(claimsOf(context), projectId);
    if (refusal) throw refusal;
    if (sessionId === "") throw new DomainError("invalid", "session_id is missing");
    if (provider === "missing") throw new DomainError("precondition", 'the provider "missing" is not available');
    const known = this.#sessions.get(sessionId);
    if (known !== undefined && known.info.repoPath !== repoPath) {
      throw new DomainError("already-exists", `session ${JSON.stringify(sessionId)} has other parameters`);
    }
    if (known === undefined) {
      this.add(sessionId, projectId, { provider, repoPath, agentOpts });
      this.becomes(sessionId, this.startsAs);
      this.emit(sessionId, "", { type: EventType.SESSION_STARTED, stream: "system" });
    }
    const { status, createdAt } = this.#must(sessionId).info;
    return { sessionId, status, createdAt };
  }

  #stop(id: string, context: HandlerContext) {
    const session = this.#find(id, context);
    if (!session.ended) this.emit(id, "", { type: EventType.SESSION_STOPPED, stream: "system", done: true });
    session.info.status = SessionStatus.STOPPED;
    this.#changed.notify();
    return { status: SessionStatus.STOPPED };
  }

  #input(id: string, text: string, key: string, context: HandlerContext) {
    const session = this.#find(id, context);
    const before = session.nudges.get(key);
    if (before !== undefined && before !== text) throw new DomainError("already-exists", "that key has another text");
    if (before === undefined) {
      session.nudges.set(key, text);
      this.emit(id, text, { type: EventType.INPUT_RECEIVED, stream: "system", requestId: key });
      this.emit(id, `echo: ${text}\n`);
    }
    return { accepted: true, seq: session.info.lastSeq, outcome: NudgeOutcome.SUBMITTED };
  }

  async *#stream(request: StreamEventsRequest, context: HandlerContext): AsyncGenerator<SessionEvent> {
    const session = this.#find(request.sessionId, context);
    sendHead(context);
    const { epoch } = session;
    const head = session.info.lastSeq;
    if ((request.epoch !== "" && request.epoch !== epoch) || (request.afterSeq ?? 0n) > head) {
      throw new DomainError("precondition", "the epoch is stale", { fields: { epoch, head: String(head) } });
    }
    let after = request.afterSeq ?? session.acked.get(request.subscriberId) ?? (session.events[0]?.seq ?? 1n) - 1n;
    this.openStreams++;
    try {
      while (session.epoch === epoch) {
        const oldest = session.events[0]?.seq ?? head + 1n;
        if (after + 1n < oldest) {
          const gap = { first: after + 1n, to: oldest, reason: GapReason.EVICTED };
          after = oldest - 1n;
          yield create(SessionEventSchema, {
            type: EventType.BUFFER_OVERFLOW,
            seq: after,
            epoch,
            gap,
            stream: "system",
          });
        }
        for (const event of session.events.filter(({ seq }) => seq > after)) {
          after = event.seq;
          yield event;
          if (event.done) return;
        }
        if (session.ended && after >= session.info.lastSeq) return;
        if (session.info.lastSeq <= after) await raceSignal(session.changed.next(context.signal), context.signal);
      }
      throw new DomainError("precondition", "the epoch is stale", {
        fields: { epoch: session.epoch, head: String(session.info.lastSeq) },
      });
    } finally {
      this.openStreams--;
    }
  }

  async *#watch(context: HandlerContext) {
    const { project } = claimsOf(context);
    const told = new Map<string, string>();
    const shown = new Map<string, GetSessionResponse>();
    sendHead(context);
    let seq = 0n;
    for (;;) {
      for (const [id, session] of shown) {
        if (this.#sessions.has(id)) continue;
        shown.delete(id);
        yield { session, gone: true, epoch: "w1", seq: ++seq };
      }
      for (const { info } of this.#sessions.values()) {
        const text = `${info.status} ${info.lastSeq}`;
        if (info.projectId !== project || told.get(info.sessionId) === text) continue;
        told.set(info.sessionId, text);
        shown.set(info.sessionId, info);
        const status = {
          state: info.status === SessionStatus.STOPPED ? AgentState.DEAD : AgentState.IDLE,
          sessionId: info.sessionId,
        };
        yield { session: info, status: { ...status, agent: info.agent, sessionAlive: true }, epoch: "w1", seq: ++seq };
      }
      this.#watches++;
      await this.#changed.next(context.signal);
    }
  }

  #service(): ServiceImpl<typeof BridgeService> {
    const find = this.#find.bind(this);
    const terminal = (id: string, context: HandlerContext) => {
      const session = find(id, context);
      if (this.noTerminal.has(id)) throw new DomainError("unimplemented", "the session has no terminal");
      return session;
    };
    return {
      startSession: (request, context) => this.#start(request, context),
      stopSession: ({ sessionId }, context) => this.#stop(sessionId, context),
      getSession: ({ sessionId }, context) => find(sessionId, context).info,
      listSessions: (_, context) => ({
        sessions: [...this.#sessions.values()]
          .map(({ info }) => info)
          .filter(({ projectId }) => projectId === claimsOf(context).project),
        incomplete: this.incomplete,
      }),
      sendInput: ({ sessionId, text, idempotencyKey }, context) =>
        this.#input(sessionId, text, idempotencyKey, context),
      streamEvents: (request, context) => this.#stream(request, context),
      health: () => ({ status: "serving", providers: [{ provider: "demo", available: true }] }),
      listProviders: () => ({
        providers: [{ provider: "demo", available: true, capabilities: ["stdio", "terminal"] }],
      }),
      ackEvents: ({ sessionId, subscriberId, ackSeq }, context) => {
        const { acked } = find(sessionId, context);
        if (ackSeq > (acked.get(subscriberId) ?? 0n)) acked.set(subscriberId, ackSeq);
        return {};
      },
      watchSessions: (_, context) => this.#watch(context),
      ...terminalCalls(find, terminal, this.#input.bind(this)),
    };
  }
}

/** The same service; `called` is called with the RPC's name before each call. */
function counted<T extends ServiceImpl<typeof BridgeService>>(service: T, called: (name: string) => void): T {
  const wrapped = Object.entries(service).map(([name, handler]) => {
    const before = (...args: unknown[]) => {
      called(name);
      return (handler as (...args: unknown[]) => unknown)(...args);
    };
    return [name, before];
  });
  return Object.fromEntries(wrapped) as T;
}
