import type { DescMessage, DescMethodServerStreaming, DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import type { Role } from "../auth/roles.ts";
import type { TraceSpan } from "../base/tracing.ts";
import type { SidecarAttachInput, SidecarAttachOutput } from "../gen/gastown/v1/sidecar_pb.ts";
import type { FrameTarget } from "../rpc/server/frames.ts";
import type { AgentStateName, Dialog, NudgeOutcome, NudgeReceipt } from "../session/types.ts";
import type { Capability, ProviderHealth } from "./provider.ts";

/** A session is found by both: the same id in another project is another session. */
export interface SessionKey {
  readonly project: string;
  readonly id: string;
}

/** On whose behalf the backend acts. */
export interface Caller {
  /** As receipts and the audit log name it. Printable, at most 256 characters. */
  readonly identity: string;
  readonly role: Role;
  /** Of its call, if that is traced: what is done for it goes below. */
  readonly trace?: TraceSpan;
}

export type SessionStatusName = "starting" | "running" | "failed" | "stopping" | "stopped";

/** What an agent does, as its protocol says. */
export interface AgentActivity {
  readonly state: AgentStateName;
  /** Since when; wall clock, ms. */
  readonly since: number;
  /** What it waits for; without secrets. */
  readonly dialog?: Dialog;
}

export interface SessionInfo extends SessionKey {
  readonly provider: string;
  readonly status: SessionStatusName;
  readonly repoPath: string;
  readonly agentOpts: Readonly<Record<string, string>>;
  /** Wall clock, ms. */
  readonly createdAt: number;
  readonly stoppedAt?: number;
  /** A sentence for a person: why it failed, cannot start yet, or is out of reach; else empty. */
  readonly error: string;
  /** For programs, e.g. `ImagePullBackOff`; empty: nothing to tell. */
  readonly reason: string;
  readonly lastSeq: bigint;
  readonly epoch: string;
  /** Address of the agent; empty: it has none. */
  readonly agent: string;
  readonly restarts: number;
  /** Of a session that runs without a terminal: what its agent says of itself. */
  readonly activity?: AgentActivity;
  /** Of a session in a pod: where in the cluster its sidecar is reached. */
  readonly sidecar?: { readonly host: string; readonly port: number };
}

export interface StartRequest extends SessionKey {
  readonly provider: string;
  readonly repoPath: string;
  readonly agentOpts: Readonly<Record<string, string>>;
}

export interface InputRequest {
  readonly text: string;
  /** Empty: one is generated. */
  readonly idempotencyKey: string;
}

export interface InputResult {
  readonly outcome: NudgeOutcome;
  /** Of its INPUT_RECEIVED event; 0: none is held. */
  readonly seq: bigint;
  readonly error: string;
}

export interface EventsRequest {
  readonly after?: bigint;
  /** Empty: none. */
  readonly subscriber: string;
  /** Empty: not checked. */
  readonly epoch: string;
}

export interface ProviderInfo extends ProviderHealth {
  readonly provider: string;
  readonly binary: string;
  readonly capabilities: readonly Capability[];
}

/** One whole message of a stream, encoded as the sidecar's own type; it is passed on without decoding. */
export type EncodedMessage = Uint8Array;

/** The events of a session from a position on, each encoded once for all who get it, as `bridge.v1.SessionEvent`. */
export interface EventFeed {
  /**
   * Writes them to `target` as fast as that takes them; resolves after the session's last event. Nothing is held for a
   * slow target: what it misses is named to it. Rejects with a DomainError, or with the signal's reason.
   */
  pipe(target: FrameTarget, signal: AbortSignal): Promise<void>;
}

/**
 * The sidecar of one session, for RPCs that are passed through. The caller's identity goes along in `gastown-sender`.
 * Errors of the sidecar come as DomainErrors.
 */
export interface SessionTerminal {
  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageShape<I>,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<MessageShape<O>>;
  /** Ends upstream too when the loop is left or the signal aborts. */
  stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageShape<I>,
    caller: Caller,
    signal: AbortSignal,
  ): AsyncIterable<EncodedMessage>;
  attach(
    inputs: AsyncIterable<SidecarAttachInput>,
    caller: Caller,
    signal: AbortSignal,
  ): AsyncIterable<SidecarAttachOutput>;
}

/** What became of a session, for overviews: it or its agent changed, or it is not kept any more. */
export type SessionChange =
  | { readonly type: "changed"; readonly session: SessionInfo; readonly receipt?: NudgeReceipt }
  | { readonly type: "gone"; readonly session: SessionInfo };

/**
 * Where sessions live: child processes of this host (`LocalSessions`), or pods of a cluster. Callers are checked
 * before: a method is called for sessions of the caller's own project only, by callers whose role is enough. Methods
 * throw DomainErrors: `not-found` for a session that is not kept, `unavailable` for one that cannot be reached now.
 */
export interface SessionBackend {
  /**
   * The same key and parameters: the session that exists.
   * @throws DomainError `invalid`, `denied` (a path that is not allowed), `already-exists` (other parameters),
   * `precondition` (no such provider or mode, not available, or the id has ended and is still kept), `exhausted`
   * (limits)
   */
  start(request: StartRequest, caller: Caller, signal: AbortSignal): Promise<SessionInfo>;
  /** Resolves when it is stopping; `watch` and `get` report the agent's end. */
  stop(key: SessionKey, how: { readonly force: boolean }, caller: Caller, signal: AbortSignal): Promise<SessionInfo>;
  /** Undefined: it is not kept. */
  get(key: SessionKey): SessionInfo | undefined;
  /**
   * `get`, with the position of its events, which is queried if it is not known here; without it if there is no answer
   * in time.
   */
  readonly describe?: (key: SessionKey, signal: AbortSignal) => Promise<SessionInfo | undefined>;
  /** All of a project that are kept, the oldest first. */
  list(project: string): readonly SessionInfo[];
  /** Changes of a project's sessions from this call on; bounded: of many changes of one session the last is given. */
  changes(project: string, signal: AbortSignal): AsyncIterable<SessionChange>;
  /** Labels that can be requested; undefined: any. */
  readonly knownLabels: ReadonlySet<string> | undefined;
  /** Those that a session has. */
  labelsOf(session: SessionInfo): Readonly<Record<string, string>>;
  sendInput(key: SessionKey, input: InputRequest, caller: Caller, signal: AbortSignal): Promise<InputResult>;
  /** Checks the position; see `follow` in eventlog for order, gaps and errors. */
  events(key: SessionKey, request: EventsRequest, caller: Caller, signal: AbortSignal): Promise<EventFeed>;
  ack(
    key: SessionKey,
    position: { readonly subscriber: string; readonly seq: bigint; readonly epoch: string },
    caller: Caller,
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * Of a session that has ended: what its screen showed last; its other calls fail with `precondition`.
   * @throws DomainError `unimplemented` for a session without a terminal, `unavailable` while it starts
   */
  terminal(key: SessionKey): SessionTerminal;
  /** Answers within seconds, whatever a provider's program does. */
  providers(project: string, signal: AbortSignal): Promise<readonly ProviderInfo[]>;
}
