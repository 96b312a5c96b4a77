import { DomainError, type ErrorKind } from "../../../internal/base/errors.ts";
import type {
  AgentPhase,
  BridgeDialog,
  BridgeEvent,
  BridgeInputOutcome,
  BridgeSessions,
  SessionFacts,
} from "../../../internal/relay/links/bridge-sessions.ts";
import {
  AgentState,
  type BridgeClient,
  BridgeError,
  type Dialog,
  DialogKind,
  EventType,
  GapReason,
  type GetSessionResponse,
  NudgeOutcome,
  type SessionEvent,
  SessionStatus,
} from "../../../pkg/bridgeclient/index.ts";

const KINDS: ReadonlySet<string> = new Set<ErrorKind>([
  ...(["invalid", "not-found", "already-exists", "precondition", "exhausted", "unauthenticated"] as const),
  ...(["denied", "unavailable", "deadline", "cancelled", "unimplemented"] as const),
]);

/** The sessions of a project at a bridge, through the SDK. */
export function bridgeSessions(client: BridgeClient, projectId: string): BridgeSessions {
  return {
    start: async (sessionId, { provider, repoPath, agentOpts }, signal) => {
      const request = { projectId, sessionId, provider, repoPath, agentOpts };
      await called(() => client.startSession(request, { signal }));
    },
    get: (sessionId, signal) =>
      unlessGone(async () => factsOf(await called(() => client.getSession({ sessionId }, { signal })))),
    stop: async (sessionId, signal) => {
      await unlessGone(() => called(() => client.stopSession({ sessionId }, { signal })));
    },
    send: async (sessionId, text, idempotencyKey, signal) => {
      const { outcome, error } = await called(() => client.sendInput({ sessionId, text, idempotencyKey }, { signal }));
      return { outcome: outcomeOf(outcome), error };
    },
    events: (sessionId, { epoch, seq }, signal) => readEvents(client, sessionId, { epoch, seq }, signal),
    dialog: async (sessionId, signal) => {
      const { dialog } = await called(() => client.status({ sessionId }, { signal }));
      return dialog && dialogOf(dialog);
    },
    respond: async (sessionId, request, signal) => {
      await called(() => client.respond({ sessionId, request }, { signal }));
    },
    press: async (sessionId, keys, requestId, signal) => {
      await called(() => client.sendKeys({ sessionId, request: { keys: [...keys], requestId } }, { signal }));
    },
    takeBack: async (sessionId, requestId, signal) => {
      await called(() => client.cancelNudge({ sessionId, request: { requestId } }, { signal }));
    },
  };
}

/** Translates an error of the SDK into a DomainError. */
export function ownError(err: unknown): unknown {
  if (!(err instanceof BridgeError)) return err;
  const { reason, message, retryAfterMs, fields } = err;
  const kind = KINDS.has(reason) ? (reason as ErrorKind) : "unavailable";
  const more = retryAfterMs !== undefined && { retry_after_ms: retryAfterMs };
  return new DomainError(kind, message, { fields: { ...fields, ...more }, cause: err });
}

async function* readEvents(
  client: BridgeClient,
  sessionId: string,
  { epoch, seq }: { readonly epoch: string; readonly seq: number },
  signal: AbortSignal,
): AsyncGenerator<BridgeEvent, void, undefined> {
  try {
    const request = { sessionId, epoch, afterSeq: BigInt(seq) };
    for await (const event of client.streamEvents(request, { signal })) yield eventOf(event);
  } catch (err) {
    throw ownError(err);
  }
}

async function called<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (err) {
    throw ownError(err);
  }
}

async function unlessGone<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (err) {
    if (err instanceof DomainError && err.kind === "not-found") return undefined;
    throw err;
  }
}

function factsOf({ status, error, epoch, lastSeq, provider, repoPath, agentOpts }: GetSessionResponse): SessionFacts {
  const isStarting = status === SessionStatus.STARTING || status === SessionStatus.SESSION_STATUS_UNSPECIFIED;
  const stands = isStarting ? "starting" : status === SessionStatus.RUNNING ? "running" : "ended";
  return { status: stands, error, epoch, lastSeq: Number(lastSeq), provider, repoPath, agentOpts };
}

function eventOf(event: SessionEvent): BridgeEvent {
  const place = { seq: Number(event.seq), epoch: event.epoch };
  const { type, requestId: key, receipt, gap, dialog, text, error } = event;
  switch (type) {
    case EventType.INPUT_RECEIVED:
      return { ...place, type: "input", key };
    case EventType.NUDGE_RECEIPT: {
      const outcome = outcomeOf(receipt?.outcome ?? NudgeOutcome.UNKNOWN);
      return {
        ...place,
        type: "receipt",
        key: key || (receipt?.requestId ?? ""),
        outcome,
        error: receipt?.error ?? "",
      };
    }
    case EventType.PHASE_CHANGED:
      return { ...place, type: "phase", phase: nameOf(AgentState, event.state, "unspecified") as AgentPhase };
    case EventType.STDOUT:
      return { ...place, type: "output", text };
    case EventType.BUFFER_OVERFLOW: {
      const { first = 0n, to = 0n, reason = GapReason.UNSPECIFIED } = gap ?? {};
      const named = { first: Number(first), to: Number(to), reason: nameOf(GapReason, reason, "unspecified") };
      return { ...place, type: "gap", gap: named };
    }
    case EventType.DIALOG_OPENED:
      return dialog === undefined
        ? { ...place, type: "other" }
        : { ...place, type: "dialog-opened", dialog: dialogOf(dialog) };
    case EventType.DIALOG_CLOSED:
      return { ...place, type: "dialog-closed" };
    case EventType.SESSION_STOPPED:
    case EventType.SESSION_FAILED:
      return { ...place, type: "ended", isLast: event.done, error };
    default:
      return { ...place, type: "other" };
  }
}

function dialogOf({ id, kind, title, text, choices }: Dialog): BridgeDialog {
  const shown = choices.map(({ key, label }) => ({ key, label }));
  return { id, kind: nameOf(DialogKind, kind, "other"), title, text, choices: shown };
}

/** An outcome that this version does not know is `unknown`, which proves nothing. */
function outcomeOf(outcome: NudgeOutcome): BridgeInputOutcome {
  const name = nameOf(NudgeOutcome, outcome, "unknown");
  return name === "unspecified" ? "unknown" : (name as BridgeInputOutcome);
}

/** The name of an enum value, such as `blocked-by-dialog` for `BLOCKED_BY_DIALOG`. */
function nameOf(names: Readonly<Record<string, number>>, value: number, unknown: string): string {
  const [name = unknown] = Object.entries(names).find(([, number]) => number === value) ?? [];
  return name.toLowerCase().replaceAll("_", "-");
}
