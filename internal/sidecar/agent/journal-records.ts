import { Journal } from "../../eventlog/journal.ts";
import { type EventRecord, type RestoredEvents, restoreEvents } from "../../session/event-records.ts";
import type { NudgeRecord } from "../../session/nudge-record.ts";
import type { Confidence, NudgeOutcome } from "../../session/types.ts";

/** What the serving half keeps in its journal. */
export type SidecarRecord =
  | NudgeRecord
  | EventRecord
  /** The output stream: offsets below `reservedTo` may have been handed out. */
  | { readonly type: "stream"; readonly epoch: string; readonly reservedTo: string }
  /** The agent's present life: wall clock ms, and how often it was started again. */
  | {
      readonly type: "agent";
      readonly pid: number;
      readonly startedAt: number;
      readonly restarts: number;
      /** Which agent this was, see `ControlHello`. */
      readonly agentId?: string;
      /** It is to end for good. */
      readonly stopping?: boolean;
    };

type AgentRecord = SidecarRecord & { readonly type: "agent" };
type StreamRecord = SidecarRecord & { readonly type: "stream" };

/** The journal's content, sorted out. */
export interface Restored {
  readonly nudges: readonly NudgeRecord[];
  readonly stream?: StreamRecord;
  readonly agent?: AgentRecord;
  readonly events: RestoredEvents;
}

export function openJournal(path: string) {
  const { journal, records, unreadable, replaced } = Journal.open<SidecarRecord>(path, parseRecord);
  const restored: { nudges: NudgeRecord[]; stream?: StreamRecord; agent?: AgentRecord } = { nudges: [] };
  const events: EventRecord[] = [];
  for (const record of records) {
    if (record.type === "events" || record.type === "cursor" || record.type === "standing") events.push(record);
    else if (record.type === "stream") restored.stream = record;
    else if (record.type === "agent") restored.agent = record;
    else restored.nudges.push(record);
  }
  return { journal, restored: { ...restored, events: restoreEvents(events) } as Restored, unreadable, replaced };
}

/** The folder is shared with the agent, so a record is taken only if it has the shape that we write. */
export function parseRecord(value: unknown): SidecarRecord | undefined {
  if (typeof value !== "object" || value === null || !("type" in value)) return undefined;
  const record = value as Readonly<Record<string, unknown>>;
  const type = String(record["type"]);
  return Object.hasOwn(SHAPES, type) && SHAPES[type]?.(record) ? (value as SidecarRecord) : undefined;
}

type Shape = (record: Readonly<Record<string, unknown>>) => boolean;

const isText = (value: unknown): boolean => typeof value === "string";
const isNumber = (value: unknown): boolean => typeof value === "number" && Number.isFinite(value);
const has =
  (shape: Readonly<Record<string, (value: unknown) => boolean>>) =>
  (value: unknown): boolean => {
    if (typeof value !== "object" || value === null) return false;
    const record = value as Readonly<Record<string, unknown>>;
    return Object.entries(shape).every(([name, check]) => check(record[name]));
  };

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
const isEvidence = has({ source: isText, value: isText, ageMs: isCount, confidence: isOneOf(CONFIDENCES) });
const isTimings = (value: unknown): boolean => has({})(value) && Object.values(value as object).every(isCount);

const isSeq = (value: unknown): boolean => typeof value === "string" && /^\d{1,19}$/.test(value);

const SHAPES: Readonly<Record<string, Shape>> = {
  accepted: has({
    nudge: has({
      requestId: isText,
      messageHash: isText,
      message: isText,
      text: isText,
      mode: (mode) => mode === "wait-idle" || mode === "immediate" || mode === "queue",
      priority: (priority) => priority === "normal" || priority === "urgent",
      sender: isText,
      acceptedAt: isNumber,
      expiresAt: isNumber,
    }),
  }),
  intent: has({ requestId: isText }),
  withdrawn: has({ requestId: isText }),
  ended: has({
    at: isNumber,
    receipt: has({
      requestId: isText,
      outcome: isOneOf(OUTCOMES),
      error: isText,
      sender: isText,
      evidence: (value) => Array.isArray(value) && value.every(isEvidence),
      timings: isTimings,
    }),
  }),
  stream: has({ epoch: isText, reservedTo: isSeq }),
  events: has({ epoch: isText, reservedTo: isSeq }),
  cursor: has({ epoch: isText, subscriber: isText, seq: isSeq, at: isNumber }),
  standing: has({ lines: (value) => Array.isArray(value) && value.length <= 300 && value.every(isCount) }),
  agent: has({
    pid: isNumber,
    startedAt: isNumber,
    restarts: isNumber,
    agentId: (id) => id === undefined || isText(id),
  }),
};

/** What the journal holds as it applies to the agent of now: of another agent's life nothing applies. */
export function ofAgent(restored: Restored, agentId: string | undefined, now: number): Restored {
  if (agentId === undefined || restored.agent === undefined || restored.agent.agentId === agentId) return restored;
  return { ...restored, agent: { type: "agent", pid: 0, startedAt: now, restarts: 0, agentId } };
}
