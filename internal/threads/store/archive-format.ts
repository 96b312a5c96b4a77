import type { PoolClient } from "pg";

/** The first line of an archive. A line `[table, row]` for each row follows, then an `ArchiveEnd`. */
export interface ArchiveHead {
  readonly format: "gastown-threads";
  readonly version: 1;
  /** The schema version of the exported database. */
  readonly schema: string;
  /** The columns of each table. */
  readonly tables: Readonly<Record<string, readonly string[]>>;
}

/** The last line of an archive. An archive without it is truncated. */
export interface ArchiveEnd {
  readonly end: true;
  readonly rows: number;
  /** Hex SHA-256 of all lines before this one, line feeds included. */
  readonly sha256: string;
}

/** All tables, each after those that it references, with the order of its rows. */
export const ARCHIVED: Readonly<Record<string, string>> = {
  workspace: "workspace_id",
  agent: "workspace_id, agent_id",
  session: "workspace_id, session_id",
  thread: "workspace_id, thread_id",
  participant: "workspace_id, thread_id, agent_id",
  message: "workspace_id, thread_id, seq",
  wake: "workspace_id, wake_id",
  wake_attempt: "workspace_id, wake_id, attempt",
  escalation: "workspace_id, escalation_id",
  audit: "workspace_id, seq",
  revoked: "workspace_id, kind, value",
};

/** The columns of each table, without generated ones. */
export async function columnsOf(client: PoolClient): Promise<Readonly<Record<string, readonly string[]>>> {
  const { rows } = await client.query<{ table_name: string; names: string[] }>(
    `select table_name::text, array_agg(column_name::text order by ordinal_position) as names
     from information_schema.columns where table_schema = 'threads' and is_generated = 'NEVER' group by table_name`,
  );
  return Object.fromEntries(rows.filter((row) => Object.hasOwn(ARCHIVED, row.table_name)).map(pairOf));
}

function pairOf({ table_name: table, names }: { readonly table_name: string; readonly names: string[] }) {
  return [table, names] as const;
}
