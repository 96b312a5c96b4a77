import type { AttachHello, AttachInput, AttachOutput } from "../session/attach.ts";
import type {
  NudgeReceipt,
  NudgeRequest,
  PaneStatus,
  PeekRequest,
  PeekResult,
  RespondRequest,
  RespondResult,
  WatchRequest,
  WatchUpdate,
} from "../session/types.ts";

/** Status of an agent with who it is, as far as the place where it lives can tell. */
export interface AgentStatus extends PaneStatus {
  /** Full address, e.g. `rig/polecats/name`. */
  readonly agent: string;
  readonly sessionId: string;
  readonly projectId: string;
  readonly provider: string;
}

/**
 * One agent's terminal, near or far. Methods throw DomainErrors: `not-found` (no such session), `unavailable` (cannot be
 * reached), `unauthenticated`/`denied` (not trusted), `invalid`, `exhausted`. A nudge's refusal is a receipt, not an error.
 */
export interface Backend {
  /** Where it lives, for a person: `local tmux "gt-toast"`, `127.0.0.1:9090`. */
  readonly where: string;
  peek(request: PeekRequest, signal: AbortSignal): Promise<PeekResult>;
  nudge(request: NudgeRequest, signal: AbortSignal): Promise<NudgeReceipt>;
  getNudge(requestId: string, signal: AbortSignal): Promise<NudgeReceipt>;
  cancelNudge(requestId: string, signal: AbortSignal): Promise<NudgeReceipt>;
  /**
   * Answers the dialog with that id; see `respond` in `internal/pane`.
   * @throws DomainError `precondition` too: no dialog or another one is open now (its id is the field `dialog_id`).
   */
  respond(request: RespondRequest, signal: AbortSignal): Promise<RespondResult>;
  status(signal: AbortSignal): Promise<AgentStatus>;
  /** First update at once; ends with one of kind `end`, or by throwing. Stops when the loop is left or `signal` aborts. */
  watch(request: WatchRequest, signal: AbortSignal): AsyncIterable<WatchUpdate>;
  /**
   * A person's terminal on the agent's: see `attach` in `internal/pane`. The end of `inputs` leaves; so do leaving the loop
   * and aborting `signal`. Ends with an `end`, or by throwing: `unavailable` when the connection broke.
   * @throws DomainError `unimplemented` where tmux itself does it
   */
  attach(
    hello: AttachHello,
    inputs: AsyncIterable<AttachInput>,
    signal: AbortSignal,
  ): AsyncGenerator<AttachOutput, void, undefined>;
  /** Frees connections and child processes. */
  [Symbol.asyncDispose](): Promise<void>;
}
