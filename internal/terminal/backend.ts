import type { AgentStatus } from "../session/agent-status.ts";
import type { AttachHello, AttachInput, AttachOutput } from "../session/attach.ts";
import type { StopRequest, StopResult } from "../session/stop.ts";
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

/**
 * One agent's terminal, local or remote. Methods throw DomainErrors: `not-found` (no such session), `unavailable`
 * (cannot be reached), `unauthenticated`/`denied` (not trusted), `invalid`, `exhausted`. A nudge's refusal is a
 * receipt, not an error.
 */
export interface Backend {
  /** The terminal's location, as shown to a person: `local tmux "gt-toast"`, `127.0.0.1:9090`. */
  readonly where: string;
  peek(request: PeekRequest, signal: AbortSignal): Promise<PeekResult>;
  nudge(request: NudgeRequest, signal: AbortSignal): Promise<NudgeReceipt>;
  getNudge(requestId: string, signal: AbortSignal): Promise<NudgeReceipt>;
  cancelNudge(requestId: string, signal: AbortSignal): Promise<NudgeReceipt>;
  /**
   * Answers the dialog with that id; see `respond` in `internal/pane`.
   * @throws DomainError also `precondition`: no dialog, or another one, is open now (its id is the field `dialog_id`).
   */
  respond(request: RespondRequest, signal: AbortSignal): Promise<RespondResult>;
  /**
   * Presses keys, or types a text as it is, into whatever is on the screen.
   * @throws DomainError `invalid` for an unknown key; `precondition` when the agent is dead; `already-exists` for a
   * request id that was used for other keys
   */
  sendKeys(request: KeysRequest, signal: AbortSignal): Promise<void>;
  /**
   * Ends the agent for good.
   * @throws DomainError `unimplemented` without a sidecar; `deadline` if the agent has not ended in time
   */
  stop(request: StopRequest, signal: AbortSignal): Promise<StopResult>;
  status(signal: AbortSignal): Promise<AgentStatus>;
  /** The identity of the agent that answers. Present only where this is cheaper than `status`. */
  identity?(signal: AbortSignal): Promise<Pick<AgentStatus, "agent" | "sessionId">>;
  /**
   * Yields the first update at once, and ends with an update of kind `end` or by throwing. Stops when the caller leaves
   * the loop or `signal` aborts.
   */
  watch(request: WatchRequest, signal: AbortSignal): AsyncIterable<WatchUpdate>;
  /**
   * Attaches a person's terminal to the agent's: see `attach` in `internal/pane`. The end of `inputs` detaches, and so
   * do leaving the loop and aborting `signal`. Ends with an `end`, or by throwing: `unavailable` when the connection
   * broke.
   * @throws DomainError `unimplemented` where tmux itself attaches terminals
   */
  attach(
    hello: AttachHello,
    inputs: AsyncIterable<AttachInput>,
    signal: AbortSignal,
  ): AsyncGenerator<AttachOutput, void, undefined>;
  /** Frees connections and child processes. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** The methods that make one call and have one answer. */
type Call = {
  [Name in keyof Backend]-?: Backend[Name] extends (...given: never[]) => Promise<unknown> ? Name : never;
}[Exclude<keyof Backend, "identity" | typeof Symbol.asyncDispose>];

/** The methods with one answer, of the backend that `open` gives, which is called for each call. */
export function forwardCalls(open: () => Promise<Backend>): Pick<Backend, Call> {
  const forward = <Name extends Call>(name: Name) =>
    (async (...given: unknown[]) => {
      const backend = await open();
      return await Reflect.apply(backend[name], backend, given);
    }) as Backend[Name];
  return {
    peek: forward("peek"),
    nudge: forward("nudge"),
    getNudge: forward("getNudge"),
    cancelNudge: forward("cancelNudge"),
    respond: forward("respond"),
    sendKeys: forward("sendKeys"),
    stop: forward("stop"),
    status: forward("status"),
  };
}
