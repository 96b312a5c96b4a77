/** The schema as of the first version; later versions add to it. */
export const SCHEMA_1 = `
create table threads.workspace (
  workspace_id text primary key,
  paused_until timestamptz,
  policy jsonb not null default '{}',
  audit_seq bigint not null default 0,
  audit_head text not null default ''
);
create table threads.agent (
  workspace_id text not null,
  agent_id text not null,
  kind text not null default 'agent' check (kind in ('agent', 'person')),
  role text not null default '',
  wake_style text not null default 'pointer' check (wake_style in ('pointer', 'inline')),
  paused_until timestamptz,
  seen_at timestamptz,
  primary key (workspace_id, agent_id)
);
create table threads.session (
  workspace_id text not null,
  session_id text not null,
  agent_id text not null,
  runtime text not null default 'none' check (runtime in ('sidecar', 'bridge', 'none')),
  managed boolean not null default false,
  state text not null default 'live' check (state in ('live', 'stale', 'ended')),
  provider text not null default '',
  repo_path text not null default '',
  agent_opts jsonb not null default '{}',
  agent_session_id text not null default '',
  last_heartbeat_at timestamptz not null default now(),
  resumes int not null default 0,
  primary key (workspace_id, session_id)
);
create unique index session_managed on threads.session (workspace_id, agent_id) where managed and state <> 'ended';
create table threads.thread (
  workspace_id text not null,
  thread_id text not null,
  title text not null,
  status text not null default 'active' check (status in ('active', 'blocked', 'resolved', 'closed')),
  status_reason text not null default '',
  disputed boolean not null default false,
  needs_human_decision boolean not null default false,
  owner text not null default '',
  created_by text not null,
  version int not null default 1,
  last_seq bigint not null default 0,
  head_hash text not null default '',
  guard jsonb not null default '{}',
  metadata jsonb not null default '{}',
  paused_until timestamptz,
  idem_key text,
  payload_hash text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, thread_id),
  unique (workspace_id, created_by, idem_key)
);
create index thread_updated on threads.thread (workspace_id, updated_at desc, thread_id);
create table threads.participant (
  workspace_id text not null,
  thread_id text not null,
  agent_id text not null,
  role text not null default '',
  wake text not null default 'all' check (wake in ('all', 'directed', 'never')),
  offered_seq bigint not null default 0,
  read_seq bigint not null default 0,
  acked_seq bigint not null default 0,
  answered_seq bigint not null default 0,
  last_hop int not null default 0,
  returned_at timestamptz,
  joined_at timestamptz not null default clock_timestamp(),
  left_at timestamptz,
  primary key (workspace_id, thread_id, agent_id),
  foreign key (workspace_id, thread_id) references threads.thread,
  check (acked_seq <= read_seq)
);
create index participant_agent on threads.participant (workspace_id, agent_id);
create table threads.message (
  workspace_id text not null,
  thread_id text not null,
  seq bigint not null,
  message_id text not null,
  sender text not null,
  sender_role text not null,
  sender_kind text not null,
  sender_session text not null,
  kind text not null check (kind in ('chat', 'event', 'system')),
  event_type text,
  event_version int,
  schema_version int not null default 1,
  in_reply_to text,
  body text not null,
  metadata jsonb,
  to_agents text[],
  to_roles text[],
  recipients text[],
  urgency text not null,
  hop int not null,
  idem_key text,
  payload_hash text,
  body_hash text not null,
  prev_hash text not null,
  hash text not null,
  erased_at timestamptz,
  correlation_id text not null default '',
  created_at timestamptz not null,
  search tsvector generated always as (to_tsvector('simple', body)) stored,
  primary key (workspace_id, thread_id, seq),
  unique (workspace_id, message_id),
  unique (workspace_id, thread_id, message_id),
  unique (workspace_id, thread_id, sender, idem_key),
  foreign key (workspace_id, thread_id) references threads.thread,
  foreign key (workspace_id, thread_id, in_reply_to) references threads.message (workspace_id, thread_id, message_id)
);
create index message_search on threads.message using gin (search);
create index message_created on threads.message (workspace_id, created_at desc, message_id);
create table threads.wake (
  workspace_id text not null,
  wake_id text not null,
  agent_id text not null,
  state text not null check (state in ('PENDING', 'CLAIMED', 'QUEUED', 'DEFERRED', 'SUBMITTED', 'ACKED', 'UNKNOWN',
    'FAILED', 'CANCELLED', 'EXPIRED')),
  reason text not null default '',
  urgency text not null default 'normal',
  force boolean not null default false,
  due_at timestamptz not null,
  lease_by text,
  lease_until timestamptz,
  deferred_since timestamptz,
  blocked_by text not null default '',
  attempts int not null default 0,
  last_outcome text not null default '',
  created_at timestamptz not null default clock_timestamp(),
  primary key (workspace_id, wake_id)
);
create unique index wake_open on threads.wake (workspace_id, agent_id)
  where state in ('PENDING', 'CLAIMED', 'QUEUED', 'DEFERRED');
create index wake_due on threads.wake (due_at) where state in ('PENDING', 'CLAIMED', 'QUEUED', 'DEFERRED');
create index wake_doubt on threads.wake (due_at) where state = 'UNKNOWN';
create index wake_agent on threads.wake (workspace_id, agent_id, created_at desc);
create table threads.wake_attempt (
  workspace_id text not null,
  wake_id text not null,
  attempt int not null,
  kind text not null default 'live' check (kind in ('live', 'resume', 'spawn')),
  request_id text not null,
  session_id text not null,
  epoch text not null,
  text text not null,
  upto jsonb not null,
  outcome text,
  evidence jsonb not null default '[]',
  begun_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  primary key (workspace_id, wake_id, attempt),
  unique (request_id),
  foreign key (workspace_id, wake_id) references threads.wake
);
create table threads.escalation (
  workspace_id text not null,
  escalation_id text not null,
  thread_id text not null,
  state text not null default 'open' check (state in ('open', 'acknowledged', 'resolved')),
  severity text not null,
  owner text not null,
  cause text not null,
  reason text not null,
  context jsonb not null,
  overdue boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  due_at timestamptz not null,
  primary key (workspace_id, escalation_id)
);
create unique index escalation_open on threads.escalation (workspace_id, thread_id, cause) where state <> 'resolved';
create table threads.audit (
  workspace_id text not null,
  seq bigint not null,
  at timestamptz not null,
  actor text not null,
  actor_session text not null,
  action text not null,
  thread_id text,
  correlation_id text not null,
  detail jsonb not null,
  prev_hash text not null,
  hash text not null,
  primary key (workspace_id, seq)
);
create function threads.refuse_change() returns trigger language plpgsql as $$
begin raise exception 'the audit trail is append-only' using errcode = 'insufficient_privilege'; end $$;
create trigger audit_rows before update or delete on threads.audit
  for each row execute function threads.refuse_change();
create trigger audit_table before truncate on threads.audit
  for each statement execute function threads.refuse_change();
create table threads.revoked (
  workspace_id text not null,
  kind text not null check (kind in ('jti', 'session')),
  value text not null,
  until timestamptz not null,
  primary key (workspace_id, kind, value)
);
`;

/**
 * Adds reminders and news. While `again_seq` is set, messages that were given and not acknowledged wait again.
 * `reminders` counts the reminders; 3: people are to be shown the messages, 4: people have been shown them. A wake's
 * events are in `news` until people are informed, then in `told`.
 */
export const SCHEMA_2 = `
alter table threads.participant
  add column offered_at timestamptz,
  add column again_seq bigint,
  add column reminders int not null default 0,
  add column look_at timestamptz;
alter table threads.wake
  add column blocked_title text not null default '',
  add column news text[] not null default '{}',
  add column told text[] not null default '{}';
create index wake_news on threads.wake (workspace_id, wake_id) where news <> '{}';
create index participant_unshown on threads.participant (workspace_id, thread_id) where reminders = 3;
`;

/**
 * Adds the time when an agent last read or posted while a wake of it was being delivered, which may be before the
 * wake's text was typed.
 */
export const SCHEMA_3 = "alter table threads.wake add column acted_at timestamptz";
