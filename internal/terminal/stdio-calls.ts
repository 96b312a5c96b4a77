import { create } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { CallOptions, Client } from "@connectrpc/connect";
import { within } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import {
  type BridgeService,
  type GetSessionResponse,
  type SessionEvent,
  SessionStatus,
} from "../gen/bridge/v1/bridge_pb.ts";
import { AgentState, EvidenceConfidence } from "../gen/gastown/v1/common_pb.ts";
import {
  type SidecarOutputUpdate,
  SidecarOutputUpdateSchema,
  type SidecarPeekRequest,
  SidecarPeekResponseSchema,
  SidecarStatusResponseSchema,
  type SidecarWatchRequest,
  UpdateKind,
} from "../gen/gastown/v1/sidecar_pb.ts";
import { Transcript } from "./transcript.ts";

export interface StdioCallsDeps {
  readonly clock: Clock;
  readonly client: Client<typeof BridgeService>;
  readonly sessionId: string;
}

const DEFAULT_LINES = 50;
const DEFAULT_INTERVAL_MS = 100;
/**
 * The number of last events to read: they contain a session's last lines and, unless the turn is very long, its
 * activity.
 */
const TAIL_EVENTS = 2000n;

/**
 * The calls of a session without a terminal: they return the lines of its conversation and its state, read from its
 * events.
 */
export function stdioCalls(deps: StdioCallsDeps) {
  return {
    async peek({ lines, all }: Pick<SidecarPeekRequest, "lines" | "all">, options: CallOptions = {}) {
      const { session, transcript } = await read(deps, options, all);
      const output = transcript.lines(all ? Number.POSITIVE_INFINITY : lines || DEFAULT_LINES).join("\n");
      return create(SidecarPeekResponseSchema, { output, sessionAlive: isAlive(session), epoch: session.epoch });
    },
    async status(options: CallOptions = {}) {
      const { session, transcript } = await read(deps, options);
      return statusOf(session, transcript, deps.clock.now());
    },
    watchOutput: (request: Pick<SidecarWatchRequest, "lines" | "intervalMs">, options: CallOptions = {}) =>
      watch(deps, request, options),
  };
}

async function* watch(
  deps: StdioCallsDeps,
  { lines, intervalMs }: Pick<SidecarWatchRequest, "lines" | "intervalMs">,
  options: CallOptions,
): AsyncGenerator<SidecarOutputUpdate, void, undefined> {
  const { clock } = deps;
  const { session, transcript, events } = await begin(deps, options);
  const update = (kind: UpdateKind, more: { readonly endReason?: string } = {}) =>
    create(SidecarOutputUpdateSchema, {
      ...{ kind, output: transcript.lines(lines || DEFAULT_LINES).join("\n"), epoch: session.epoch, rows: 1, ...more },
      ...{ sessionAlive: transcript.end === undefined, timestamp: new Date(clock.now()).toISOString() },
    });
  await catchUp(session, transcript, events);
  yield update(UpdateKind.SNAPSHOT);
  let next = events.next();
  let isChanged = false;
  while (transcript.end === undefined) {
    const got: IteratorResult<SessionEvent> | undefined = isChanged
      ? await within(clock, intervalMs || DEFAULT_INTERVAL_MS, next)
      : await next;
    if (got === undefined) {
      isChanged = false;
      yield update(UpdateKind.CHANGE);
      continue;
    }
    if (got.done === true) return;
    isChanged = transcript.take(got.value) || isChanged;
    next = events.next();
  }
  next.catch(() => {}); // ends with the call
  if (isChanged) yield update(UpdateKind.CHANGE);
  yield update(UpdateKind.END, { endReason: transcript.end ?? "" });
}

/** The session's present state, and the transcript of its events up to now. */
async function read(deps: StdioCallsDeps, options: CallOptions, all = false) {
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, ...(options.signal ? [options.signal] : [])]);
  try {
    const { session, transcript, events } = await begin(deps, { ...options, signal }, all);
    await catchUp(session, transcript, events);
    return { session, transcript };
  } finally {
    stop.abort();
  }
}

async function begin({ client, sessionId }: StdioCallsDeps, options: CallOptions, all = false) {
  const session = await client.getSession({ sessionId }, options);
  const tail = session.lastSeq > TAIL_EVENTS ? session.lastSeq - TAIL_EVENTS : 0n;
  // If Connect's stream is aborted before it is read, it rejects a promise that nothing handles. So the stream is
  // opened only by the first next().
  const events = (async function* () {
    yield* client.streamEvents({ sessionId, afterSeq: all ? 0n : tail }, options);
  })();
  return { session, transcript: new Transcript(), events };
}

/** Reads the events that had arrived when the session was requested into the transcript. */
async function catchUp(
  { lastSeq }: GetSessionResponse,
  transcript: Transcript,
  events: AsyncIterator<SessionEvent>,
): Promise<void> {
  for (let seq = 0n; seq < lastSeq; ) {
    const { done, value } = await events.next();
    if (done === true) return;
    transcript.take(value);
    seq = value.seq;
  }
}

const STATES: Readonly<Partial<Record<SessionStatus, AgentState>>> = {
  [SessionStatus.STARTING]: AgentState.STARTING,
  [SessionStatus.STOPPING]: AgentState.STOPPING,
  [SessionStatus.STOPPED]: AgentState.DEAD,
  [SessionStatus.FAILED]: AgentState.DEAD,
};

function statusOf(session: GetSessionResponse, { state, stateSince, printedAt, dialog }: Transcript, now: number) {
  const { sessionId, projectId, provider, agent, epoch, restarts, error, createdAt, stoppedAt } = session;
  const alive = isAlive(session);
  const upMs = alive && createdAt !== undefined ? Math.max(0, now - timestampMs(createdAt)) : 0;
  return create(SidecarStatusResponseSchema, {
    ...{ sessionId, projectId, provider, agent, epoch, restarts, sessionAlive: alive },
    state: STATES[session.status] ?? state,
    dialog: stoppedAt === undefined ? dialog : undefined,
    stateSince: stoppedAt ?? (stateSince > 0 ? timestampFromMs(stateSince) : undefined),
    lastOutputAt: printedAt > 0 ? new Date(printedAt).toISOString() : "",
    uptimeSeconds: BigInt(Math.round(upMs / 1000)),
    evidence: [{ source: "output", value: error || "its events say so", confidence: EvidenceConfidence.STRONG }],
  });
}

function isAlive({ status }: GetSessionResponse): boolean {
  return status === SessionStatus.RUNNING;
}
