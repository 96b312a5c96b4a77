import { create } from "@bufbuild/protobuf";
import type { SessionTerminal } from "../../bridge/session-backend.ts";
import { EventType } from "../../gen/gastown/v1/common_pb.ts";
import { SidecarService, SidecarStreamEventsRequestSchema } from "../../gen/gastown/v1/sidecar_pb.ts";
import { sidecarEvent } from "./own-event.ts";
import { eventPosition, OPERATOR, type SidecarPosition } from "./sidecar-position.ts";

/**
 * Number of the INPUT_RECEIVED event of an input that the sidecar has accepted; 0: the sidecar holds none. `before`:
 * the position of the events before the input was sent. An input that was sent before that is searched for in all
 * events.
 * @throws DomainError as `terminal.unary` and `terminal.stream`
 */
export async function inputSeq(
  terminal: SessionTerminal,
  requestId: string,
  before: SidecarPosition,
  signal: AbortSignal,
): Promise<bigint> {
  const now = await eventPosition(terminal, signal);
  const isNew = now.epoch === before.epoch;
  const found = isNew ? await find(terminal, requestId, { from: before.head, to: now.head }, signal) : 0n;
  if (found !== 0n) return found;
  return await find(terminal, requestId, { from: 0n, to: isNew ? before.head : now.head }, signal);
}

/** Searches the events after `from` up to `to`. */
async function find(
  terminal: SessionTerminal,
  requestId: string,
  { from, to }: { readonly from: bigint; readonly to: bigint },
  signal: AbortSignal,
): Promise<bigint> {
  if (from >= to) return 0n;
  const request = create(SidecarStreamEventsRequestSchema, { afterSeq: from });
  for await (const payload of terminal.stream(SidecarService.method.streamEvents, request, OPERATOR, signal)) {
    const event = sidecarEvent(payload);
    if (event.type === EventType.INPUT_RECEIVED && event.requestId === requestId) return event.seq;
    if (event.seq >= to) break;
  }
  return 0n;
}
