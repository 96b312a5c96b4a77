import { rejection, resultBody } from "../acp/result-parts.ts";
import { readWork, type WorkMessage, type WorkPlace, type WorkRefusal } from "../acp/work-message.ts";
import { natsHeaders, publishStored } from "../nats/publish.ts";
import { type LaneName, messageId, subjects } from "../nats/subjects.ts";
import type { WorkItem } from "../nats/work-item.ts";
import type { LaneDeps } from "./lane-deps.ts";

/** Work to remove from its lane. */
type Rejected = Pick<WorkItem, "seq" | "data" | "headers" | "term">;

const OURS: ReadonlySet<string> = new Set(["Relay-Reason", "Relay-Truncated", "Relay-Subject"]);
/** Room for the headers of a dead letter, and for those that the server adds. */
const HEADER_BYTES = 4096;

/** The reason why a piece of work will never be done. */
export interface Rejection {
  readonly reason: string;
  /** The message's id, if it has one. */
  readonly id: string | undefined;
}

/** Rejections without a `result.failure`: their ids may belong to other work. */
const OF_OTHERS: ReadonlySet<string> = new Set(["id_reused", "unsigned"]);

/** Reads a message of a lane's work: the work, or its permanent refusal. */
export function readLaneWork(
  { signers }: Pick<LaneDeps, "signers">,
  { data, headers }: Pick<WorkItem, "data" | "headers">,
  place: WorkPlace,
): WorkMessage | WorkRefusal {
  const work = readWork(data, place);
  const isSigned = signers?.hasSigned({ subject: subjects.work(place), data, headers }) ?? true;
  return isSigned ? work : { reason: "unsigned", id: work.id };
}

/**
 * Removes work from its lane permanently. Publishes the unchanged message with the reason as a dead letter, an event to
 * the session, and a failure as the result, unless the work has no id or its id may belong to other work.
 */
export async function rejectWork(
  deps: LaneDeps,
  lane: LaneName,
  item: Rejected,
  { reason, id }: Rejection,
  signal: AbortSignal,
): Promise<void> {
  const { logger, metrics, events } = deps;
  const fields = { session_id: lane.sessionId, role: lane.role, reason, work_seq: item.seq, bytes: item.data.length };
  logger.warn({ action: "work_rejected", ...fields, id }, "work was rejected");
  metrics.deadLetters.inc({ reason });
  metrics.translationErrors.inc({ dialect: "work", reason });
  await publishStored(deps, letterOf(deps, lane, item, { reason, msgId: `dead/${item.seq}` }), signal);
  if (id !== undefined && !OF_OTHERS.has(reason)) {
    const body = resultBody(rejection(reason), { id, sessionId: lane.sessionId, part: 1, parts: 1 });
    const msgId = messageId(lane, `${id}/rejected`, item.seq);
    await publishStored(deps, { subject: subjects.results(lane), body, msgId }, signal);
  }
  await settle(deps, item, signal);
  events.publish(lane.sessionId, "work.rejected", { role: lane.role, reason, id });
}

/** Publishes a dead letter for a decision on a permission, because no known signer has signed the decision. */
export async function rejectDecision(
  deps: LaneDeps,
  lane: LaneName,
  { seq, data, headers }: Pick<WorkItem, "seq" | "data" | "headers">,
  signal: AbortSignal,
): Promise<void> {
  const reason = "unsigned";
  const fields = { session_id: lane.sessionId, role: lane.role, reason, event_seq: seq, bytes: data.length };
  deps.logger.warn({ action: "decision_rejected", ...fields }, "a decision was rejected");
  deps.metrics.deadLetters.inc({ reason });
  const letter = letterOf(deps, lane, { data, headers }, { reason, msgId: `dead/decision/${seq}` });
  letter.headers.set("Relay-Subject", subjects.approvals(lane.sessionId)); // the message was not work
  await publishStored(deps, letter, signal);
}

/**
 * A dead letter with the unchanged message. If that exceeds the server's limit, it omits the message's own headers
 * first, then cuts the end of the body.
 */
function letterOf(
  { bus }: LaneDeps,
  lane: LaneName,
  { data, headers: own }: Pick<WorkItem, "data" | "headers">,
  { reason, msgId }: { readonly reason: string; readonly msgId: string },
) {
  const place = { subject: subjects.dead(lane), msgId };
  const headers = natsHeaders({ "Relay-Reason": reason });
  const room = bus.maxPayload - HEADER_BYTES - data.length;
  const kept = [...(own ?? [])].filter(([name]) => !name.startsWith("Nats-") && !OURS.has(name));
  const bytes = kept.flatMap(([name, values]) => values.map((value) => name.length + Buffer.byteLength(value) + 4));
  if (bytes.reduce((sum, each) => sum + each, 0) <= room) {
    for (const [name, values] of kept) for (const value of values) headers.append(name, value);
  }
  if (room >= 0) return { ...place, body: data, headers };
  headers.set("Relay-Truncated", String(data.length));
  return { ...place, body: data.subarray(0, data.length + room), headers };
}

/**
 * Terminates the message. If that fails, the server delivers it again, and the stream drops the second dead letter as a
 * duplicate.
 */
async function settle({ logger }: LaneDeps, item: Rejected, signal: AbortSignal): Promise<void> {
  try {
    await item.term();
  } catch (err) {
    if (!signal.aborted) logger.warn({ action: "ack_failed", work_seq: item.seq, err }, "the server does not answer");
  }
}
