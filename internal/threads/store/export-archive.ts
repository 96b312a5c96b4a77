import { createHash } from "node:crypto";
import type { Pool, PoolClient } from "pg";
import { DEFAULT_POLICY } from "../domain/policy.ts";
import { ARCHIVED, type ArchiveEnd, type ArchiveHead, columnsOf } from "./archive-format.ts";
import { failureOf, transaction } from "./database.ts";
import { schemaState } from "./migrate.ts";
import { PgTx } from "./tx.ts";

const PAGE = 200;

/**
 * Writes everything of all workspaces as of one instant, as lines of JSON that end in a line feed, and records the
 * export in each audit trail. Awaits `write`, so that a slow reader slows the export down. Returns the number of rows.
 * @throws DomainError `unavailable` if the connection breaks; the archive then has no last line
 */
export async function exportArchive(pool: Pool, write: (line: string) => Promise<void>): Promise<number> {
  try {
    await noteExport(pool);
    const state = await schemaState(pool);
    const client = await pool.connect();
    try {
      // All tables are read from one snapshot, which later commits do not change.
      await client.query("begin isolation level repeatable read read only");
      const rows = await writeAll(client, "name" in state ? state.name : "", write);
      await client.query("commit");
      client.release();
      return rows;
    } catch (err) {
      client.release(err as Error);
      throw err;
    }
  } catch (err) {
    throw failureOf(err);
  }
}

async function writeAll(client: PoolClient, schema: string, write: (line: string) => Promise<void>): Promise<number> {
  const hash = createHash("sha256");
  const put = async (text: string) => {
    hash.update(`${text}\n`);
    await write(`${text}\n`);
  };
  const tables = await columnsOf(client);
  const head: ArchiveHead = { format: "gastown-threads", version: 1, schema, tables };
  await put(JSON.stringify(head));
  let count = 0;
  for (const [table, order] of Object.entries(ARCHIVED)) {
    const columns = (tables[table] ?? []).map((name) => `"${name}"`).join(", ");
    await client.query(
      `declare rows no scroll cursor for select row_to_json(r)::text as row
       from (select ${columns} from threads."${table}" order by ${order}) r`,
    );
    for (;;) {
      const { rows } = await client.query<{ row: string }>(`fetch ${PAGE} from rows`);
      for (const { row } of rows) await put(`[${JSON.stringify(table)},${row}]`);
      count += rows.length;
      if (rows.length < PAGE) break;
    }
    await client.query("close rows");
  }
  const end: ArchiveEnd = { end: true, rows: count, sha256: hash.digest("hex") };
  await write(`${JSON.stringify(end)}\n`);
  return count;
}

async function noteExport(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ workspace_id: string }>(
    "select distinct workspace_id from threads.thread order by workspace_id",
  );
  for (const { workspace_id: workspace } of rows) {
    await transaction(pool, async (client) => {
      const tx = new PgTx({ query: client.query.bind(client) as never }, workspace, DEFAULT_POLICY);
      const who = { actor: "threads export", actorSession: "", correlationId: "" };
      await tx.audit({ ...who, action: "export", detail: {} });
    });
  }
}
