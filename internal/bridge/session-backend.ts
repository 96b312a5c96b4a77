import type { DescMessage, DescMethodServerStreaming, DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import type { Role } from "../auth/roles.ts";
import type { TraceSpan } from "../base/tracing.ts";
import type { SidecarAttachInput, SidecarAttachOutput } from "../gen/gastown/v1/sidecar_pb.ts";
import type { FrameTarget } from "../rpc/server/frames.ts";
import type { AgentStateName, Dialog, NudgeOutcome, NudgeReceipt } from "../session/types.ts";
import type { Capability, ProviderHealth } from "./provider.ts";

/** Identifies a session. Ids are unique only within a project. */
export interface SessionKey {
  readonly project: string;
  readonly id: string;
}

/** The caller on whose behalf the backend acts. */
export interface Actor {
  /** The name in receipts and the audit log. Printable, at most 256 characters. */
  readonly identity: string;
  readonly role: Role;
  /** Span of the call, if it is traced; parent of spans for work on its behalf. */
  readonly trace?: TraceSpan | undefined;
}

export type SessionStatusName = "starting" | "running" | "failed" | "stopping" | "stopped";

/** The activity of an agent, as its protocol reports it. */
export interface AgentActivity {
  readonly state: AgentStateName;
  /** Start of the state; wall clock, ms. */
  readonly since: number;
  /** The question that it waits for; without secrets. */
  readonly dialog?: Dialog | undefined;
}

export interface SessionInfo extends SessionKey {
  readonly provider: string;
  readonly status: SessionStatusName;
  readonly repoPath: string;
  readonly agentOpts: Readonly<Record<string, string>>;
  /** Wall clock, ms. */
  readonly createdAt: number;
  readonly stoppedAt?: number | undefined;
  /** A sentence for a person: why the session failed, cannot start yet, or is unreachable; else empty. */
  readonly error: string;
  /** The same for programs, e.g. `ImagePullBackOff`; empty: none. */
  readonly reason: string;
  readonly lastSeq: bigint;
  readonly epoch: string;
  /** Address of the agent; empty: it has none. */
  readonly agent: string;
  readonly restarts: number;
  /** The agent program's own id of its conversation; empty: unknown. */
  readonly agentSessionId: string;
  /** The agent's own report; only while it is running without a terminal. */
  readonly activity?: AgentActivity | undefined;
  /** Only in a pod: the address of its sidecar in the cluster. */
  readonly sidecar?: { readonly host: string; readonly port: number } | undefined;
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
  /** Sequence number of the INPUT_RECEIVED event; 0: not known. */
  readonly seq: bigint;
  readonly error: string;
}

export interface SessionEventsRequest {
  readonly after?: bigint | undefined;
  /** Empty: the reader has no name, so no position is stored. */
  readonly subscriber: string;
  /** Empty: not checked. */
  readonly epoch: string;
}

export interface ProviderInfo extends ProviderHealth {
  readonly provider: string;
  readonly binary: string;
  readonly capabilities: readonly Capability[];
}

/** One whole message of a stream, encoded as the sidecar's type; passed on without decoding. */
export type EncodedMessage = Uint8Array;

/**
 * The events of a session from a position on, as `bridge.v1.SessionEvent`; each is encoded once for all subscribers.
 */
export interface EventFeed {
  /**
   * Writes the events to `target` as fast as it accepts them; resolves after the session's last event. Nothing is
   * buffered for a slow target: events that it misses are reported as a gap. Rejects with a DomainError, or with the
   * signal's reason.
   */
  pipe(target: FrameTarget, signal: AbortSignal): Promise<void>;
}

/**
 * The sidecar of one session, for forwarded RPCs. The caller's identity is sent in `gastown-sender`. Errors of the
 * sidecar become DomainErrors.
 */
export interface SessionTerminal {
  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageShape<I>,
    caller: Actor,
    signal: AbortSignal,
  ): Promise<MessageShape<O>>;
  /** Leaving the loop or aborting the signal cancels the upstream call too. */
  stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageShape<I>,
    caller: Actor,
    signal: AbortSignal,
  ): AsyncIterable<EncodedMessage>;
  attach(
    inputs: AsyncIterable<SidecarAttachInput>,
    caller: Actor,
    signal: AbortSignal,
  ): AsyncIterable<SidecarAttachOutput>;
}

/** A change for overviews: the session or its agent changed, or the session is no longer kept. */
export type SessionChange =
  | { readonly type: "changed"; readonly session: SessionInfo; readonly receipt?: NudgeReceipt | undefined }
  | { readonly type: "gone"; readonly session: SessionInfo };

/**
 * The place where sessions run: child processes of this host (`LocalSessions`), or pods of a cluster. Callers have
 * already been authorized: each session is in the caller's project, and the role suffices. Methods throw DomainErrors:
 * `not-found` for a session that is not kept, `unavailable` for one that is unreachable now.
 */
export interface SessionBackend {
  /**
   * Starts a session, or returns the existing one for the same key and parameters.
   * @throws DomainError `invalid`, `denied` (a path that is not allowed), `already-exists` (other parameters),
   * `precondition` (no such provider or mode, not available, or a session of this id has ended and is still kept),
   * `exhausted` (limits)
   */
  start(request: StartRequest, caller: Actor, signal: AbortSignal): Promise<SessionInfo>;
  /** Resolves when the session is stopping; `changes` and `get` report the agent's end. */
  stop(key: SessionKey, how: { readonly force: boolean }, caller: Actor, signal: AbortSignal): Promise<SessionInfo>;
  /** Undefined: the session is not kept. */
  get(key: SessionKey): SessionInfo | undefined;
  /**
   * Called before a session counts as missing. When it resolves, the answer of `get` is right. Absent: `get` is always
   * right, since no other process starts sessions.
   * @throws DomainError `unavailable` if the session's existence cannot be checked
   */
  readonly confirmMissing?: (key: SessionKey, signal: AbortSignal) => Promise<void>;
  /**
   * Like `get`, but also asks the sidecar for what is not known here, e.g. the position of the events. If the sidecar
   * does not answer in time, the result is that of `get`.
   */
  readonly describe?: (key: SessionKey, signal: AbortSignal) => Promise<SessionInfo | undefined>;
  /** All sessions of a project that are kept, the oldest first. */
  list(project: string): readonly SessionInfo[];
  /** The reason, for a person, why `list` may lack sessions; empty: it is complete. Absent: it is always complete. */
  readonly listFault?: (project: string) => string;
  /**
   * Changes of a project's sessions from this call on. Bounded: a slow reader gets only the last change of each
   * session.
   */
  changes(project: string, signal: AbortSignal): AsyncIterable<SessionChange>;
  /** Labels that requests may name; undefined: any. */
  readonly knownLabels: ReadonlySet<string> | undefined;
  labelsOf(session: SessionInfo): Readonly<Record<string, string>>;
  sendInput(key: SessionKey, input: InputRequest, caller: Actor, signal: AbortSignal): Promise<InputResult>;
  /** Checks the position; see `follow` in eventlog for order, gaps and errors. */
  events(key: SessionKey, request: SessionEventsRequest, caller: Actor, signal: AbortSignal): Promise<EventFeed>;
  ack(
    key: SessionKey,
    position: { readonly subscriber: string; readonly seq: bigint; readonly epoch: string },
    caller: Actor,
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * The terminal of a session. If the session has ended, it shows the last screen, and other calls fail with
   * `precondition`.
   * @throws DomainError `unimplemented` for a session without a terminal, `unavailable` while it starts
   */
  terminal(key: SessionKey): SessionTerminal;
  /** Answers within seconds, even if a provider's program hangs. */
  providers(project: string, signal: AbortSignal): Promise<readonly ProviderInfo[]>;
}
