import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { GapReason, GapSchema } from "../gen/gastown/v1/common_pb.ts";
import * as pb from "../gen/gastown/v1/sidecar_pb.ts";
import type * as pane from "../session/types.ts";
import { enumWords } from "./enum-words.ts";
import { rfc3339 } from "./wire-time.ts";

export const GAPS = enumWords<pane.GapReason>()(GapReason, {
  "slow-reader": GapReason.SLOW_READER,
  evicted: GapReason.EVICTED,
  restart: GapReason.RESTART,
  truncated: GapReason.TRUNCATED,
});

const KINDS = enumWords<pane.WatchUpdate["kind"]>()(pb.UpdateKind, {
  snapshot: pb.UpdateKind.SNAPSHOT,
  change: pb.UpdateKind.CHANGE,
  heartbeat: pb.UpdateKind.HEARTBEAT,
  end: pb.UpdateKind.END,
});

const MODES = enumWords<pane.WatchRequest["mode"]>()(pb.WatchMode, {
  screen: pb.WatchMode.SCREEN,
  raw: pb.WatchMode.RAW,
});

export function watchRequest(request: pane.WatchRequest): MessageInitShape<typeof pb.SidecarWatchRequestSchema> {
  const { lines, intervalMs, ansi, epoch, afterOffset } = request;
  const mode = MODES.values[request.mode];
  return { lines, intervalMs, ansi, epoch, mode, afterOffset };
}

/** @throws DomainError `invalid` for a mode that this sidecar does not know */
export function watchRequestOf(request: pb.SidecarWatchRequest): pane.WatchRequest {
  return {
    mode: MODES.asked("mode", request.mode, "screen"),
    lines: request.lines,
    intervalMs: request.intervalMs,
    ansi: request.ansi,
    epoch: request.epoch,
    afterOffset: request.afterOffset,
  };
}

export function outputUpdate(update: pane.WatchUpdate): MessageInitShape<typeof pb.SidecarOutputUpdateSchema> {
  const { alive, timestamp, kind, gap, ...rest } = update;
  return {
    ...rest,
    data: update.data as Uint8Array<ArrayBuffer>,
    sessionAlive: alive,
    timestamp: rfc3339(timestamp),
    kind: KINDS.values[kind],
    gap: gap && create(GapSchema, { ...gap, reason: GAPS.values[gap.reason] }),
  };
}

/** An unknown kind, which a newer sidecar may send, becomes `change`; an unknown gap becomes `truncated`. */
export function watchUpdate(message: pb.SidecarOutputUpdate): pane.WatchUpdate {
  const { $typeName: _, $unknown: __, sessionAlive, kind, timestamp, gap, ...same } = message;
  const update = {
    ...same,
    alive: sessionAlive,
    kind: KINDS.word(kind) ?? "change",
    timestamp: Date.parse(timestamp) || 0,
  };
  if (gap === undefined) return update;
  return { ...update, gap: { first: gap.first, to: gap.to, reason: GAPS.word(gap.reason) ?? "truncated" } };
}

export function peekRequest(request: pane.PeekRequest): MessageInitShape<typeof pb.SidecarPeekRequestSchema> {
  return { ...request };
}

export function peekResponse(result: pane.PeekResult): MessageInitShape<typeof pb.SidecarPeekResponseSchema> {
  const { alive, ...rest } = result;
  return { ...rest, sessionAlive: alive };
}

export function peekResult(message: pb.SidecarPeekResponse): pane.PeekResult {
  const { $typeName: _, $unknown: __, sessionAlive, ...same } = message;
  return { ...same, alive: sessionAlive };
}
