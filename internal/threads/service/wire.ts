import type { MemberKind, Metadata, Severity, ThreadStatus, Urgency, WakeSetting, WakeState } from "../domain/types.ts";

/** Inputs and outputs of the operations, with the field names of the interfaces; see `docs/protocols/threads.md`. */

export interface WireThread {
  readonly thread_id: string;
  readonly title: string;
  readonly status: ThreadStatus;
  readonly status_reason: string;
  readonly disputed: boolean;
  readonly needs_human_decision: boolean;
  readonly owner: string;
  readonly created_by: string;
  readonly version: number;
  readonly last_seq: number;
  readonly created_at: string;
  readonly updated_at: string;
  /** In lists and watch streams: the caller's unread messages. */
  readonly unread_count?: number;
  /** In watch streams: the participants that the thread waits for. */
  readonly waiting?: readonly WireWaiting[];
  readonly paused_until?: string;
}

export interface WireWaiting {
  readonly agent_id: string;
  readonly count: number;
  readonly from: string;
  readonly seq: number;
  readonly since: string;
  readonly given: boolean;
}

export interface WireMessage {
  readonly message_id: string;
  readonly thread_id: string;
  readonly seq: number;
  readonly created_at: string;
  readonly sender: {
    readonly agent_id: string;
    readonly role: string;
    readonly kind: string;
    readonly session_id: string;
  };
  readonly kind: string;
  readonly text: string;
  readonly event_type?: string;
  readonly event_version?: number;
  readonly schema_version: number;
  readonly metadata?: Metadata;
  readonly to?: readonly string[];
  readonly to_role?: readonly string[];
  readonly recipients?: readonly string[];
  readonly in_reply_to?: string;
  readonly urgency: Urgency;
  readonly hop: number;
  readonly erased?: boolean;
}

export interface WireParticipant {
  readonly agent_id: string;
  readonly role: string;
  readonly kind: MemberKind;
  readonly known: boolean;
  readonly wake: WakeSetting;
  readonly read_seq: number;
  readonly last_seen_seq: number;
}

interface NewParticipant {
  readonly agent_id: string;
  readonly role?: string;
}

export interface CreateThreadInput {
  readonly title: string;
  readonly participants?: readonly NewParticipant[];
  readonly owner?: string;
  readonly metadata?: Metadata;
  readonly idempotency_key?: string;
}

export interface ListThreadsInput {
  readonly status?: readonly ThreadStatus[];
  readonly unread_only?: boolean;
  readonly owner?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

export interface PostInput {
  readonly thread_id: string;
  readonly text: string;
  readonly to?: readonly string[];
  readonly to_role?: readonly string[];
  readonly in_reply_to?: string;
  readonly event_type?: string;
  readonly event_version?: number;
  readonly metadata?: Metadata;
  readonly urgency?: Urgency;
  readonly idempotency_key?: string;
  readonly ack_seq?: number;
}

export interface PostOutput {
  readonly message_id: string;
  readonly seq: number;
  readonly duplicate: boolean;
  readonly recipients: readonly string[];
  readonly thread_status: ThreadStatus;
}

export interface ReadInput {
  readonly thread_id?: string;
  readonly after_seq?: number;
  readonly limit?: number;
  readonly wait_ms?: number;
  readonly sender?: string;
  readonly event_type?: string;
  readonly ack_seq?: number;
}

export interface ReadOutput {
  readonly messages: readonly WireMessage[];
  readonly next_after_seq: number;
  readonly last_seq: number;
  readonly unread_count: number;
  readonly last_seen_seq: number;
  /** Absent if the request names no thread. */
  readonly thread_status?: ThreadStatus;
  readonly timed_out: boolean;
}

export interface StatusInput {
  readonly thread_id: string;
  readonly expected_version: number;
  readonly status?: ThreadStatus;
  readonly reason?: string;
  readonly disputed?: boolean;
  readonly needs_human_decision?: boolean;
  readonly owner?: string;
}

export interface SummarizeInput {
  readonly thread_id: string;
  readonly max_bytes?: number;
  readonly text?: string;
  readonly covers_seq?: number;
}

export interface SearchInput {
  readonly query?: string;
  readonly thread_id?: string;
  readonly sender?: string;
  readonly event_type?: string;
  readonly status?: ThreadStatus;
  readonly since?: string;
  readonly until?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

export interface EscalateInput {
  readonly thread_id: string;
  readonly reason: string;
  readonly severity: Severity;
  readonly owner?: string;
}

export interface ManageInput {
  readonly thread_id: string;
  readonly add?: readonly NewParticipant[];
  readonly remove?: readonly string[];
  readonly wake?: WakeSetting;
}

export interface HeartbeatInput {
  readonly agent_session_id?: string;
}

export interface TriggerInput {
  readonly thread_id: string;
  readonly agent_id: string;
  readonly reason: string;
  readonly force?: boolean;
}

export interface WireWake {
  readonly wake_id: string;
  readonly agent_id: string;
  readonly state: WakeState;
  readonly reason: string;
  readonly urgency: Urgency;
  readonly attempts: number;
  readonly outcome: string;
  readonly blocked_by: string;
  readonly blocked_title?: string;
  readonly created_at: string;
  readonly due_at: string;
}

export interface WatchInput {
  /** By thread, the last seq that the caller has. */
  readonly after?: Readonly<Record<string, number>>;
}

/** One update for a watcher; `next_cursor`: more of the snapshot follows. */
export type ThreadsUpdate =
  | {
      readonly snapshot: {
        readonly threads: readonly WireThread[];
        readonly unread_total: number;
        readonly next_cursor?: string;
      };
    }
  | { readonly message: WireMessage }
  | { readonly thread: WireThread }
  | { readonly wake: WireWake }
  | { readonly escalation: object }
  | { readonly heartbeat: string };
