import { create } from "@bufbuild/protobuf";
import { DomainError } from "../../base/errors.ts";
import type { Caller, SessionTerminal } from "../../bridge/session-backend.ts";
import {
  SidecarAckEventsRequestSchema,
  SidecarService,
  SidecarStatusRequestSchema,
} from "../../gen/gastown/v1/sidecar_pb.ts";
import { CONTROLLER } from "../pods/sidecar-status.ts";

/** Where a sidecar's events stand. */
export interface EventPosition {
  readonly epoch: string;
  /** The last event's number. */
  readonly head: bigint;
}

/** The controller, where a call needs a role. */
export const OPERATOR: Caller = { ...CONTROLLER, role: "operate" };
/** No sidecar has it: epochs are UUIDs. */
const NO_EPOCH = "-";
const MAX_EPOCH = 64;
const MAX_SEQ = 2n ** 64n - 1n;

/**
 * Asks a sidecar where its events stand, by an acknowledgement for an epoch that it does not have: its refusal tells
 * both.
 * @throws DomainError as the call does, `unavailable` for an answer that does not tell
 */
export async function eventPosition(terminal: SessionTerminal, signal: AbortSignal): Promise<EventPosition> {
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

/** How often the sidecar has started its agent again since its container began. @throws DomainError as the call does */
export async function agentRestarts(terminal: SessionTerminal, signal: AbortSignal): Promise<number> {
  const request = create(SidecarStatusRequestSchema);
  return (await terminal.unary(SidecarService.method.status, request, OPERATOR, signal)).restarts;
}

/** Undefined: it tells no position that callers could be given. */
function positionIn({ fields }: DomainError): EventPosition | undefined {
  const { epoch, head } = fields;
  if (typeof epoch !== "string" || epoch === "" || epoch.length > MAX_EPOCH) return undefined;
  if (typeof head !== "string" || !/^\d{1,20}$/.test(head) || BigInt(head) > MAX_SEQ) return undefined;
  return { epoch, head: BigInt(head) };
}
