import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { SessionUpdateSchema, type WatchSessionsRequest } from "../../gen/bridge/v1/bridge_pb.ts";
import { GapReason, GapSchema } from "../../gen/gastown/v1/common_pb.ts";
import { sendHead } from "../../rpc/server/response-head.ts";
import { receiptMessage } from "../../wire/nudge.ts";
import type { SessionBackend } from "../session-backend.ts";
import type { CallAccess } from "./call-access.ts";
import { sessionMessage } from "./session-message.ts";
import { SessionsWatch, type WatchedSession } from "./sessions-watch.ts";
import type { DueUpdate } from "./update-queue.ts";

export interface WatchSessionsDeps {
  readonly clock: Clock;
  readonly backend: SessionBackend;
  readonly access: CallAccess;
}

const MAX_LINES = 50;
const MAX_LABELS = 64;

/** WatchSessions: first all sessions of the project, then each one that changes. */
export function watchSessions({ clock, backend, access }: WatchSessionsDeps) {
  return {
    async *watchSessions({ projectId, labels, lines }: WatchSessionsRequest, context: HandlerContext) {
      const project = access.project(context, projectId);
      checkRequest(labels, lines, backend.knownLabels);
      const caller = access.caller(context);
      sendHead(context);
      const epoch = randomUUID();
      const watch = new SessionsWatch({ clock, backend }, { project, labels, lines, caller });
      for await (const update of watch.updates(context.signal)) yield updateMessage(update, epoch);
    },
  };
}

/** @throws DomainError `invalid` */
function checkRequest(
  labels: Readonly<Record<string, string>>,
  lines: number,
  known: ReadonlySet<string> | undefined,
): void {
  if (lines < 0 || lines > MAX_LINES) throw new DomainError("invalid", `lines is 0 to ${MAX_LINES}, not ${lines}`);
  if (Object.keys(labels).length > MAX_LABELS) {
    throw new DomainError("invalid", `at most ${MAX_LABELS} labels are allowed`);
  }
  const strange = known && Object.keys(labels).find((label) => !known.has(label));
  if (strange === undefined) return;
  const message = `no label ${JSON.stringify(strange.slice(0, 64))} is known here`;
  throw new DomainError("invalid", message, { fields: { known: [...(known ?? [])].join(", ") } });
}

function updateMessage({ value, seq, missedFrom }: DueUpdate<WatchedSession>, epoch: string) {
  const { session, status, receipt, screen, isGone } = value;
  const reason = GapReason.SLOW_READER;
  return create(SessionUpdateSchema, {
    session: sessionMessage(session),
    status,
    lastReceipt: receipt && receiptMessage(receipt),
    screen: [...screen],
    epoch,
    seq,
    gap: missedFrom === undefined ? undefined : create(GapSchema, { first: missedFrom, to: seq, reason }),
    gone: isGone,
  });
}
