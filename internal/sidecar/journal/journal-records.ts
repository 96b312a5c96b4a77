import { Journal, type JournalFile } from "../../eventlog/journal.ts";
import { EventFold, type EventRecord, type RestoredEvents, restoreEvents } from "../../session/event-records.ts";
import { ID } from "../../session/ids.ts";
import { NudgeFold } from "../../session/nudge-fold.ts";
import type { NudgeRecord } from "../../session/nudge-record.ts";
import type { Confidence, NudgeOutcome } from "../../session/types.ts";
import type { LifeRecord } from "../lifecycle/agent-lifecycle.ts";

/** A record in the serving half's journal. */
export type SidecarRecord =
  | NudgeRecord
  | EventRecord
  /** The output stream: offsets below `reservedTo` may have been handed out. */
  | { readonly type: "stream"; readonly epoch: string; readonly reservedTo: string }
  /** The agent's present or last life; `stopping`: it must end permanently. */
  | (LifeRecord & { readonly type: "agent"; readonly stopping?: boolean });

type AgentRecord = SidecarRecord & { readonly type: "agent" };
type StreamRecord = SidecarRecord & { readonly type: "stream" };

/** The journal's content after folding. */
export interface Restored {
  readonly nudges: readonly NudgeRecord[];
  readonly stream?: StreamRecord | undefined;
  readonly agent?: AgentRecord | undefined;
  readonly events: RestoredEvents;
}

/**
 * Opens the journal and folds its records. Whatever the file contains, this takes bounded memory and does not throw
 * because of it: damaged data is counted and set aside, and no nudge that may have been typed is typed again.
 */
export function openJournal(path: string | JournalFile) {
  const nudges = new NudgeFold();
  const events = new EventFold();
  let stream: StreamRecord | undefined;
  let agent: AgentRecord | undefined;
  const take = (record: SidecarRecord): void => {
    if (record.type === "events" || record.type === "cursor" || record.type === "standing") events.take(record);
    else if (record.type === "stream") stream = record;
    else if (record.type === "agent") agent = record;
    else nudges.take(record);
  };
  const damagedRecord = () => nudges.damaged();
  const opened = Journal.open<SidecarRecord>(path, { parse: parseJournalRecord, take, damaged: damagedRecord });
  const restored: Restored = { nudges: nudges.records(), stream, agent, events: restoreEvents(events.records()) };
  const damaged = opened.damaged + nudges.forgotten;
  return { journal: opened.journal, restored, damaged, replaced: opened.replaced };
}

/**
 * The folder is shared with the agent, so a record is taken only if it has the shape that we write.
 * @internal
 */
export function parseJournalRecord(value: unknown): SidecarRecord | undefined {
  if (typeof value !== "object" || value === null || !("type" in value)) return undefined;
  const record = value as Readonly<Record<string, unknown>>;
  const type = String(record["type"]);
  return Object.hasOwn(SHAPES, type) && SHAPES[type]?.(record) ? (value as SidecarRecord) : undefined;
}

type Shape = (record: Readonly<Record<string, unknown>>) => boolean;

/** A text of at most this many characters. */
const isText =
  (limit: number) =>
  (value: unknown): boolean =>
    typeof value === "string" && value.length <= limit;
const isName = isText(1024);
const isLong = isText(128 * 1024); // the typed text is a little longer than the message
const isId = (value: unknown): boolean => typeof value === "string" && ID.test(value);
/** Wall clock, ms. */
const isTime = (value: unknown): boolean => typeof value === "number" && value >= 0 && value < 8.64e15;
const isPid = (value: unknown): boolean => isCount(value) && Number(value) >= 0 && Number(value) <= 2 ** 22;
const has =
  (shape: Readonly<Record<string, (value: unknown) => boolean>>) =>
  (value: unknown): boolean => {
    if (typeof value !== "object" || value === null) return false;
    const record = value as Readonly<Record<string, unknown>>;
    return Object.entries(shape).every(([name, check]) => check(record[name]));
  };

const isAbsentOr = (check: (value: unknown) => boolean) => (value: unknown) => value === undefined || check(value);
const isCount = (value: unknown): boolean => Number.isSafeInteger(value);
const isOneOf =
  (words: Readonly<Record<string, true>>) =>
  (value: unknown): boolean =>
    typeof value === "string" && Object.hasOwn(words, value);

const OUTCOMES: Readonly<Record<NudgeOutcome, true>> = {
  submitted: true,
  queued: true,
  stranded: true,
  unknown: true,
  "blocked-by-dialog": true,
  "composer-busy": true,
  "agent-dead": true,
  expired: true,
  unsafe: true,
  cancelled: true,
};
const CONFIDENCES: Readonly<Record<Confidence, true>> = { proof: true, strong: true, weak: true };
const isEvidence = has({ source: isName, value: isLong, ageMs: isCount, confidence: isOneOf(CONFIDENCES) });
const isTimings = (value: unknown): boolean => has({})(value) && Object.values(value as object).every(isCount);

const isMoment = has({ boot: isName, upMs: (ms) => isCount(ms) && Number(ms) >= 0 });
const isSeq = (value: unknown): boolean => typeof value === "string" && /^\d{1,19}$/.test(value);

const SHAPES: Readonly<Record<string, Shape>> = {
  accepted: has({
    nudge: has({
      requestId: isId,
      messageHash: isName,
      message: isLong,
      text: isLong,
      mode: (mode) => mode === "wait-idle" || mode === "immediate" || mode === "queue",
      priority: (priority) => priority === "normal" || priority === "urgent",
      sender: isName,
      acceptedAt: isTime,
      expiresAt: isTime,
      owner: isAbsentOr(isName),
      quietMs: isAbsentOr(isCount),
    }),
  }),
  intent: has({ requestId: isId }),
  withdrawn: has({ requestId: isId }),
  ended: has({
    at: isTime,
    moment: isAbsentOr(isMoment),
    receipt: has({
      requestId: isId,
      outcome: isOneOf(OUTCOMES),
      error: isLong,
      sender: isName,
      evidence: (value) => Array.isArray(value) && value.length <= 64 && value.every(isEvidence),
      timings: isTimings,
    }),
  }),
  stream: has({ epoch: isName, reservedTo: isSeq }),
  events: has({ epoch: isName, reservedTo: isSeq }),
  cursor: has({
    epoch: isName,
    owner: isAbsentOr(isName),
    subscriber: isName,
    seq: isSeq,
    moment: isAbsentOr(isMoment),
  }),
  standing: has({
    lines: (value) => Array.isArray(value) && value.length <= 300 && value.every(isCount),
    above: isAbsentOr(isCount),
    isOpen: isAbsentOr((value) => typeof value === "boolean"),
  }),
  agent: has({
    pid: isPid,
    startedAt: isTime,
    restarts: (value) => isCount(value) && Number(value) >= 0,
    agentId: (id) => id === undefined || isName(id),
    oomKills: isAbsentOr(isCount),
    agentSessionId: isAbsentOr(isId),
  }),
};

/** The part of the journal that applies to the present agent: records of another agent's life do not. */
export function ofAgent(restored: Restored, agentId: string | undefined, now: number): Restored {
  if (agentId === undefined || restored.agent === undefined || restored.agent.agentId === agentId) return restored;
  return { ...restored, agent: { type: "agent", pid: 0, startedAt: now, restarts: 0, agentId } };
}
