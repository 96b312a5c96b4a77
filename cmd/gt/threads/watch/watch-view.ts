import { asObjects, asText, type Json, objectOf } from "../../../../internal/base/json-fields.ts";
import { isOpenWake } from "../../../../internal/threads/domain/types.ts";

export interface Waiter {
  readonly agent: string;
  readonly count: number;
  readonly from: string;
  /** Wall clock, ms. */
  readonly since: number;
  /** The agent has been given all of the messages. */
  readonly given: boolean;
}

export interface ThreadRow {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly reason: string;
  readonly owner: string;
  readonly version: number;
  readonly unread: number;
  readonly lastSeq: number;
  readonly marks: readonly string[];
  readonly needsDecision: boolean;
  readonly pausedUntil: number | undefined;
  readonly updatedAt: number;
  readonly waiting: readonly Waiter[];
}

export interface WakeRow {
  readonly id: string;
  readonly agent: string;
  readonly state: string;
  readonly outcome: string;
  readonly blockedBy: string;
  readonly blockedTitle: string;
  readonly createdAt: number;
  readonly dueAt: number;
}

export interface EscalationRow {
  readonly id: string;
  readonly thread: string;
  readonly state: string;
  readonly severity: string;
  readonly owner: string;
  readonly reason: string;
  readonly createdAt: number;
}

const MOST_MESSAGES = 200;

/**
 * The state that updates of WatchThreads add up to: threads, the newest wake of each agent, unresolved escalations, and
 * messages of the open thread.
 */
export class WatchView {
  #threads = new Map<string, ThreadRow>();
  #isThere = false;
  /** Threads of a snapshot that is not complete yet. */
  #coming: Map<string, ThreadRow> | undefined;
  readonly #wakes = new Map<string, WakeRow>();
  readonly #escalations = new Map<string, EscalationRow>();
  #messages = new Map<number, Json>();
  #open: string | undefined;

  /** Whether the first snapshot has arrived. */
  get isThere(): boolean {
    return this.#isThere;
  }

  /** All threads: the closed ones last, and otherwise the most recently changed first. */
  get threads(): readonly ThreadRow[] {
    const isClosed = ({ status }: ThreadRow) => Number(status === "closed");
    return [...this.#threads.values()].sort(
      (a, b) => isClosed(a) - isClosed(b) || b.updatedAt - a.updatedAt || (a.id < b.id ? -1 : 1),
    );
  }

  get escalations(): readonly EscalationRow[] {
    return [...this.#escalations.values()];
  }

  /** Messages of the open thread, in order of seq. */
  get messages(): readonly Json[] {
    return [...this.#messages].sort(([a], [b]) => a - b).map(([, message]) => message);
  }

  thread(id: string | undefined): ThreadRow | undefined {
    return id === undefined ? undefined : this.#threads.get(id);
  }

  wakeOf(agent: string): WakeRow | undefined {
    return this.#wakes.get(agent);
  }

  get openWakes(): number {
    return [...this.#wakes.values()].filter(({ state }) => isOpenWake(state)).length;
  }

  /** Keeps messages of this thread from now on, and drops the messages of the previous thread. */
  open(threadId: string | undefined): void {
    if (threadId === this.#open) return;
    this.#open = threadId;
    this.#messages = new Map();
  }

  /** Adds messages of the open thread, and keeps the last 200. Ignores those of other threads. */
  keep(threadId: string, messages: readonly Json[]): void {
    if (threadId !== this.#open) return;
    for (const message of messages) this.#messages.set(Number(message["seq"]), message);
    const surplus = [...this.#messages.keys()].sort((a, b) => a - b).slice(0, -MOST_MESSAGES);
    for (const seq of surplus) this.#messages.delete(seq);
  }

  /** Applies an update of WatchThreads, with its field names on the wire. */
  take(update: Json): void {
    const { snapshot, message, thread, wake, escalation } = update;
    if (snapshot !== undefined) this.#takePart(objectOf(snapshot));
    if (message !== undefined) this.keep(asText(objectOf(message)["thread_id"]), [objectOf(message)]);
    if (thread !== undefined) {
      const row = threadRow(objectOf(thread));
      this.#threads.set(row.id, row);
    }
    if (wake !== undefined) this.#takeWake(wakeRow(objectOf(wake)));
    if (escalation !== undefined) {
      const row = escalationRow(objectOf(escalation));
      if (row.state === "resolved") this.#escalations.delete(row.id);
      else this.#escalations.set(row.id, row);
    }
  }

  #takePart(part: Json): void {
    if (this.#coming === undefined) {
      // A stream begins. It sends all open wakes and escalations, so those of the stream before are dropped.
      this.#coming = new Map();
      this.#wakes.clear();
      this.#escalations.clear();
    }
    for (const one of asObjects(part["threads"])) {
      const row = threadRow(one);
      this.#coming.set(row.id, row);
    }
    if (asText(part["next_cursor"]) !== "") return;
    this.#threads = this.#coming;
    this.#coming = undefined;
    this.#isThere = true;
  }

  #takeWake(row: WakeRow): void {
    const there = this.#wakes.get(row.agent);
    if (there === undefined || there.id === row.id || row.createdAt >= there.createdAt) this.#wakes.set(row.agent, row);
  }
}

function threadRow(one: Json): ThreadRow {
  const needsDecision = one["needs_human_decision"] === true;
  const paused = asText(one["paused_until"]);
  return {
    ...{ id: asText(one["thread_id"]), title: asText(one["title"]), status: asText(one["status"]) },
    ...{ reason: asText(one["status_reason"]), owner: asText(one["owner"]), version: Number(one["version"]) },
    ...{ unread: Number(one["unread_count"] ?? 0), lastSeq: Number(one["last_seq"]), needsDecision },
    marks: [...(one["disputed"] === true ? ["disputed"] : []), ...(needsDecision ? ["needs a decision"] : [])],
    pausedUntil: paused === "" ? undefined : Date.parse(paused),
    updatedAt: Date.parse(asText(one["updated_at"])),
    waiting: asObjects(one["waiting"]).map((waiter) => ({
      ...{ agent: asText(waiter["agent_id"]), count: Number(waiter["count"]), from: asText(waiter["from"]) },
      ...{ since: Date.parse(asText(waiter["since"])), given: waiter["given"] === true },
    })),
  };
}

function wakeRow(one: Json): WakeRow {
  return {
    ...{ id: asText(one["wake_id"]), agent: asText(one["agent_id"]), state: asText(one["state"]) },
    ...{ outcome: asText(one["outcome"]), blockedBy: asText(one["blocked_by"]) },
    ...{ blockedTitle: asText(one["blocked_title"]), createdAt: Date.parse(asText(one["created_at"])) },
    dueAt: Date.parse(asText(one["due_at"])),
  };
}

function escalationRow(one: Json): EscalationRow {
  return {
    ...{ id: asText(one["escalation_id"]), thread: asText(one["thread_id"]), state: asText(one["state"]) },
    ...{ severity: asText(one["severity"]), owner: asText(one["owner"]), reason: asText(one["reason"]) },
    createdAt: Date.parse(asText(one["created_at"])),
  };
}
