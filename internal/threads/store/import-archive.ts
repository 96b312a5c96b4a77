import { createHash } from "node:crypto";
import type { Pool, PoolClient } from "pg";
import { DomainError } from "../../base/errors.ts";
import { isJsonObject } from "../../base/json-fields.ts";
import { ARCHIVED, type ArchiveEnd, type ArchiveHead, columnsOf } from "./archive-format.ts";
import { failureOf, transaction } from "./database.ts";
import { schemaState } from "./migrate.ts";
import { verifyChains } from "./verify-chains.ts";

const BATCH = 200;
const MAX_SHOWN = 5;

type Columns = Readonly<Record<string, readonly string[]>>;

/**
 * Imports an archive into a database without threads, in one transaction. Verifies every hash chain before it commits.
 * Returns the number of rows.
 * @throws DomainError `invalid` if the database already has threads, or if the lines are not an archive, are truncated
 * or were changed
 */
export async function importArchive(pool: Pool, lines: AsyncIterable<string>): Promise<number> {
  const { rows } = await pool.query("select from threads.workspace union all select from threads.thread limit 1");
  if (rows.length > 0) {
    throw new DomainError("invalid", "the database has threads already: an archive is imported into an empty one");
  }
  const state = await schemaState(pool);
  const schema = "name" in state ? state.name : "";
  return await transaction(pool, async (client) => {
    const count = await new Import(client, await columnsOf(client), schema).run(lines);
    await checkChains(client);
    return count;
  }).catch((err: unknown) => {
    throw failureOf(err);
  });
}

class Import {
  readonly #client: PoolClient;
  readonly #known: Columns;
  readonly #schema: string;
  #given: Columns = {};
  #table = "";
  #batch: unknown[] = [];
  #count = 0;

  constructor(client: PoolClient, known: Columns, schema: string) {
    this.#client = client;
    this.#known = known;
    this.#schema = schema;
  }

  async run(lines: AsyncIterable<string>): Promise<number> {
    const hash = createHash("sha256");
    let at = 0;
    let end: Partial<ArchiveEnd> | undefined;
    for await (const line of lines) {
      at += 1;
      if (end !== undefined) throw notArchive(at, "there is text after the last line");
      const value = parse(line, at);
      if (at === 1) this.#begin(value);
      else if (Array.isArray(value)) await this.#add(value, at);
      else end = endOf(value, at);
      if (end === undefined) hash.update(`${line}\n`);
    }
    await this.#flush();
    if (end === undefined) throw notArchive(at, "it is cut off: its last line is missing");
    if (end.rows !== this.#count || end.sha256 !== hash.digest("hex")) throw notArchive(at, "it was changed");
    return this.#count;
  }

  #begin(value: unknown): void {
    const head = value as Partial<ArchiveHead> | null;
    const isOurs = head?.format === "gastown-threads" && typeof head.tables === "object" && head.tables !== null;
    if (!isOurs) throw notArchive(1, "it does not begin as threads export does");
    if (head.version !== 1 || typeof head.schema !== "string" || head.schema > this.#schema) {
      throw notArchive(1, `it was made with the schema ${String(head.schema)}, newer than this threads`);
    }
    for (const [table, columns] of Object.entries(head.tables)) {
      const known = Object.hasOwn(ARCHIVED, table) ? this.#known[table] : undefined;
      const isKnown = Array.isArray(columns) && columns.every((name) => known?.includes(name));
      if (!isKnown) throw notArchive(1, `table ${table} has columns that are not known here`);
    }
    this.#given = head.tables;
  }

  async #add(value: readonly unknown[], at: number): Promise<void> {
    const [table, row] = value;
    const isRow = typeof table === "string" && Object.hasOwn(this.#given, table) && isJsonObject(row);
    if (!isRow || value.length !== 2) throw notArchive(at, "this is not a row");
    if (table !== this.#table || this.#batch.length >= BATCH) await this.#flush();
    this.#table = table;
    this.#batch.push(row);
    this.#count += 1;
  }

  async #flush(): Promise<void> {
    if (this.#batch.length === 0) return;
    const columns = (this.#given[this.#table] ?? []).map((name) => `"${name}"`).join(", ");
    const name = `threads."${this.#table}"`;
    try {
      await this.#client.query(
        `insert into ${name} (${columns}) select ${columns} from json_populate_recordset(null::${name}, $1::json)`,
        [JSON.stringify(this.#batch)],
      );
    } catch (err) {
      const { code = "" } = err as { readonly code?: string };
      // SQLSTATE classes 22 (data exception) and 23 (integrity constraint violation).
      if (!/^(22|23)/.test(code)) throw err;
      const said = err instanceof Error ? err.message : String(err);
      throw new DomainError("invalid", `the archive has invalid rows of ${this.#table}: ${said}`);
    }
    this.#batch = [];
  }
}

async function checkChains(client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ workspace_id: string }>(
    "select workspace_id from threads.workspace union select workspace_id from threads.thread order by 1",
  );
  for (const { workspace_id: workspace } of rows) {
    const { broken } = await verifyChains(
      async (text, ...values) => (await client.query(text, [workspace, ...values])).rows,
    );
    if (broken.length === 0) continue;
    const shown = broken.slice(0, MAX_SHOWN).map((one) => `${one.threadId ?? "audit trail"} at ${one.seq}`);
    throw new DomainError("invalid", `the archive's hash chains are broken in ${workspace}: ${shown.join(", ")}`);
  }
}

function parse(line: string, at: number): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw notArchive(at, "this is not JSON");
  }
}

function endOf(value: unknown, at: number): Partial<ArchiveEnd> {
  const end = value as Partial<ArchiveEnd> | null;
  if (end?.end === true) return end;
  throw notArchive(at, "this is not a row");
}

function notArchive(line: number, why: string): DomainError {
  return new DomainError("invalid", `the archive cannot be used, line ${line}: ${why}`);
}
