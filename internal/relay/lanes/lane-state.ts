import { boundConversation, type Exchange } from "../acp/conversation.ts";
import type { Answered, Holder, LaneRecord, Prompted } from "./lane-records.ts";

/** The state of a lane, by the records of its log. */
export interface LaneState {
  /** The highest generation ever claimed; 0: none. */
  readonly generation: number;
  /** Undefined: the lane is free. */
  readonly holder: Holder | undefined;
  /** Work that an agent was asked to do and has not answered. */
  readonly prompted: Prompted | undefined;
  /** An answer that may not be completely published. */
  readonly answered: Answered | undefined;
  /** The ids of work that is done, with their hashes, the latest last; at most `MAX_DONE`. */
  readonly done: ReadonlyMap<string, string>;
  /** Cancelled work: the canceller's name by the work's id; at most `MAX_DONE`. */
  readonly cancelled: ReadonlyMap<string, string>;
  readonly exchanges: readonly Exchange[];
  /** The agent's own session that got the latest prompt. */
  readonly agentSession: string | undefined;
  /** Records since the last snapshot. */
  readonly records: number;
}

/** @internal */
export const emptyLane: LaneState = {
  generation: 0,
  holder: undefined,
  prompted: undefined,
  answered: undefined,
  done: new Map(),
  cancelled: new Map(),
  exchanges: [],
  agentSession: undefined,
  records: 0,
};

/** The number of ids that a lane remembers. @internal */
export const MAX_DONE = 1024;

/** The state after one more record. Pure. */
export function afterRecord(state: LaneState, record: LaneRecord): LaneState {
  const next = { ...state, records: state.records + 1 };
  switch (record.t) {
    case "claimed": {
      const { generation, instance, connection, agent_id, dialect } = record;
      return { ...next, generation, holder: { generation, instance, connection, agent_id, dialect } };
    }
    case "released":
      return record.generation === state.generation ? { ...next, holder: undefined } : next;
    case "prompted":
      return { ...next, prompted: record, agentSession: record.agent_session ?? state.agentSession };
    case "answered":
      return { ...next, prompted: undefined, answered: record };
    case "done":
      return afterDone(next, record.id, record.hash);
    case "cancelled":
      return { ...next, cancelled: withLatest(state.cancelled, record.id, record.by) };
    case "snapshot": {
      const { generation, holder, prompted, done, exchanges, cancelled = [], agent_session: agentSession } = record;
      const known = { done: new Map(done), cancelled: new Map(cancelled), prompted: prompted ?? undefined };
      return { ...emptyLane, generation, holder: holder ?? undefined, ...known, exchanges, agentSession };
    }
  }
}

/** The state after all records of a log. Pure. */
export function foldLane(records: Iterable<LaneRecord>): LaneState {
  let state = emptyLane;
  for (const record of records) state = afterRecord(state, record);
  return state;
}

/**
 * A record that replaces all earlier records. Must not be written while an answer is being published. If it is longer
 * than `maxBytes`, omits the oldest ids, and the conversation only if that is not enough.
 */
export function snapshotOf(state: LaneState, maxBytes: number): LaneRecord {
  for (let ids = MAX_DONE; ; ids = Math.floor(ids / 2)) {
    const record = snapshotWith(state, ids);
    if (Buffer.byteLength(JSON.stringify(record)) <= maxBytes) return record;
    if (ids === 0) return { ...record, exchanges: [] };
  }
}

function snapshotWith(state: LaneState, ids: number): Extract<LaneRecord, { readonly t: "snapshot" }> {
  const { generation, holder, prompted, exchanges, agentSession } = state;
  const latest = (known: ReadonlyMap<string, string>) => [...known].slice(Math.max(0, known.size - ids));
  const known = { prompted: prompted ?? null, done: latest(state.done), cancelled: latest(state.cancelled) };
  return { t: "snapshot", generation, holder: holder ?? null, ...known, exchanges, agent_session: agentSession };
}

function afterDone(state: LaneState, id: string, hash: string): LaneState {
  const cancelled = new Map(state.cancelled);
  cancelled.delete(id);
  const { answered } = state;
  const isOurs = answered?.id === id;
  const exchanges = isOurs ? withExchange(state.exchanges, answered) : state.exchanges;
  return {
    ...state,
    done: withLatest(state.done, id, hash),
    cancelled,
    exchanges,
    answered: isOurs ? undefined : answered,
    prompted: state.prompted?.id === id ? undefined : state.prompted,
  };
}

/** Adds an entry, and drops the oldest beyond `MAX_DONE`. */
function withLatest(entries: ReadonlyMap<string, string>, id: string, value: string): ReadonlyMap<string, string> {
  const next = new Map(entries);
  next.delete(id);
  next.set(id, value);
  for (const oldest of next.keys()) {
    if (next.size <= MAX_DONE) break;
    next.delete(oldest);
  }
  return next;
}

function withExchange(exchanges: readonly Exchange[], { exchange, fresh }: Answered): readonly Exchange[] {
  const before = fresh ? [] : exchanges;
  return exchange === undefined ? before : boundConversation([...before, exchange]).exchanges;
}
