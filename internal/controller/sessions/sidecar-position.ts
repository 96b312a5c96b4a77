import { create } from "@bufbuild/protobuf";
import { DomainError } from "../../base/errors.ts";
import type { Actor, SessionTerminal } from "../../bridge/session-backend.ts";
import {
  SidecarAckEventsRequestSchema,
  SidecarService,
  SidecarStatusRequestSchema,
} from "../../gen/gastown/v1/sidecar_pb.ts";
import { ID } from "../../session/ids.ts";
import { CONTROLLER_CALLER } from "../pods/sidecar-status.ts";

/** The position of a sidecar's events. */
export interface SidecarPosition {
  readonly epoch: string;
  /** Number of the last event. */
  readonly head: bigint;
}

/** The controller as a caller, for calls that need a role. */
export const OPERATOR: Actor = { ...CONTROLLER_CALLER, role: "operate" };
/** An epoch that no sidecar has: epochs are UUIDs. */
const NO_EPOCH = "-";
const MAX_EPOCH = 64;
const MAX_SEQ = 2n ** 64n - 1n;

/**
 * Queries the position of a sidecar's events: sends an acknowledgement for an unknown epoch, and the refusal names
 * epoch and head.
 * @throws DomainError as `terminal.unary`; `unavailable` if the sidecar does not refuse
 */
export async function eventPosition(terminal: SessionTerminal, signal: AbortSignal): Promise<SidecarPosition> {
  const request = create(SidecarAckEventsRequestSchema, { subscriberId: "position", ackSeq: 0n, epoch: NO_EPOCH });
  try {
    await terminal.unary(SidecarService.method.ackEvents, request, OPERATOR, signal);
  } catch (err) {
    const position = err instanceof DomainError && err.kind === "precondition" ? positionIn(err) : undefined;
    if (position === undefined) throw err;
    return position;
  }
  throw new DomainError("unavailable", "the session's sidecar does not report the position of its events");
}

/**
 * How often the sidecar has restarted its agent since its container began, and the agent's own id of its conversation
 * (empty: unknown). @throws DomainError as `terminal.unary`
 */
export async function agentFacts(
  terminal: SessionTerminal,
  signal: AbortSignal,
): Promise<{ readonly restarts: number; readonly agentSessionId: string }> {
  const request = create(SidecarStatusRequestSchema);
  const { restarts, agentSessionId } = await terminal.unary(SidecarService.method.status, request, OPERATOR, signal);
  return { restarts, agentSessionId: ID.test(agentSessionId) ? agentSessionId : "" };
}

/** Undefined: the error contains no valid position. */
function positionIn({ fields }: DomainError): SidecarPosition | undefined {
  const { epoch, head } = fields;
  if (typeof epoch !== "string" || epoch === "" || epoch.length > MAX_EPOCH) return undefined;
  if (typeof head !== "string" || !/^\d{1,20}$/.test(head) || BigInt(head) > MAX_SEQ) return undefined;
  return { epoch, head: BigInt(head) };
}
