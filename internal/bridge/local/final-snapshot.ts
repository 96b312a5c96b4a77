import { create, type DescMessage, type DescMethodUnary, type MessageShape } from "@bufbuild/protobuf";
import { withTimeout } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { AgentState } from "../../gen/gastown/v1/common_pb.ts";
import {
  type SidecarGetNudgeRequest,
  type SidecarPeekRequest,
  SidecarPeekRequestSchema,
  type SidecarPeekResponse,
  SidecarPeekResponseSchema,
  SidecarService,
  type SidecarStatusResponse,
  SidecarStatusResponseSchema,
} from "../../gen/gastown/v1/sidecar_pb.ts";
import type { EventSession } from "../../wire/event.ts";
import { endedTerminal } from "../ended-terminal.ts";
import type { Actor, SessionTerminal } from "../session-backend.ts";
import type { RecordedReceipts } from "./recorded-receipts.ts";

const { peek, status, getNudge } = SidecarService.method;
const BRIDGE: Actor = { identity: "bridge", role: "read" };
/** The most lines to keep of an ended session's terminal. */
const KEPT_LINES = 200;
const KEPT_CHARS = 64 * 1024;
const DEFAULT_LINES = 50;
const MOST_LINES = 100_000;
const ANSWER_MS = 1000;

/** The last state of a session's terminal, read after its agent ended. */
export interface FinalSnapshot {
  readonly screen: SidecarPeekResponse;
  readonly status: SidecarStatusResponse;
}

/**
 * Reads the final snapshot from the sidecar of an agent that has just ended; undefined if the sidecar does not answer
 * within a second.
 */
export async function takeFinalSnapshot(clock: Clock, terminal: SessionTerminal): Promise<FinalSnapshot | undefined> {
  const stop = new AbortController();
  const request = create(SidecarPeekRequestSchema, { lines: KEPT_LINES });
  const asked = Promise.all([
    terminal.unary(peek, request, BRIDGE, stop.signal),
    terminal.unary(status, create(status.input), BRIDGE, stop.signal),
  ]);
  try {
    const [screen, last] = await withTimeout(clock, ANSWER_MS, "an agent's final snapshot", asked);
    const output = screen.output.slice(-KEPT_CHARS);
    const isCut = screen.truncated || output.length < screen.output.length;
    return { screen: { ...screen, output, truncated: isCut, sessionAlive: false }, status: last };
  } catch {
    return undefined;
  } finally {
    stop.abort();
  }
}

export interface Remains {
  readonly look: FinalSnapshot | undefined;
  readonly receipts: RecordedReceipts;
  readonly session: EventSession;
}

/**
 * A terminal that shows the final snapshot (at most 200 lines, without colours) and returns the recorded receipts.
 * Without a snapshot it shows an empty screen.
 */
export function snapshotTerminal({ look, receipts, session }: Remains, why: () => DomainError): SessionTerminal {
  async function answer<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageShape<I>,
    caller: Actor,
  ): Promise<MessageShape<O>> {
    const asked: unknown = method;
    if (asked === peek) return screenOf(look, request as unknown as SidecarPeekRequest) as unknown as MessageShape<O>;
    if (asked === status) return statusOf(look, session) as unknown as MessageShape<O>;
    if (asked === getNudge) {
      const { requestId } = request as unknown as SidecarGetNudgeRequest;
      return receipts.get(requestId, caller) as unknown as MessageShape<O>;
    }
    throw why();
  }
  return endedTerminal(answer, why);
}

/** @throws DomainError `invalid` */
function screenOf(look: FinalSnapshot | undefined, { lines, all }: SidecarPeekRequest): SidecarPeekResponse {
  if (lines > MOST_LINES) throw new DomainError("invalid", `cannot peek ${lines} lines: at most ${MOST_LINES}`);
  if (look === undefined) return create(SidecarPeekResponseSchema);
  const { screen } = look;
  const held = screen.output.split("\n");
  const end = held.at(-1) === "" ? held.length - 1 : held.length;
  const wanted = all ? Number.POSITIVE_INFINITY : lines <= 0 ? DEFAULT_LINES : lines;
  const output = held.slice(Math.max(0, end - wanted)).join("\n");
  const isCut = wanted > end && (screen.truncated || end >= KEPT_LINES);
  return create(SidecarPeekResponseSchema, { ...screen, output, truncated: isCut });
}

function statusOf(
  look: FinalSnapshot | undefined,
  { sessionId, projectId, provider }: EventSession,
): SidecarStatusResponse {
  const known = look?.status ?? create(SidecarStatusResponseSchema, { sessionId, projectId, provider });
  const state = look?.status.state === AgentState.CRASH_LOOP ? AgentState.CRASH_LOOP : AgentState.DEAD;
  return { ...known, state, sessionAlive: false, agentPid: 0 };
}
