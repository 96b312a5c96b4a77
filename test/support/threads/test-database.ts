import { readFileSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { Pool } from "pg";
import { systemClock } from "../../../internal/base/clock.ts";
import { createLogger } from "../../../internal/base/logger.ts";
import type { PostgresAddress } from "../../../internal/threads/postgres/places.ts";
import { PostgresServer } from "../../../internal/threads/postgres/postgres-server.ts";

/** A pid without a process: a pid file that is being written is empty, and 0 would be our own group. */
const NO_PID = 2 ** 30;

/** A PostgreSQL that a test's servers share, on a unix socket; `await using` ends it and removes everything. */
export class TestDatabase implements AsyncDisposable {
  readonly dir: string;
  readonly #from: string;
  #running:
    | { readonly stop: AbortController; readonly done: Promise<void>; readonly address: PostgresAddress }
    | undefined;

  private constructor(dir: string, from: string) {
    this.dir = dir;
    this.#from = from;
  }

  /** `from`: `npm` or `system`. */
  static async start(from = "system"): Promise<TestDatabase> {
    // As root we run PostgreSQL as another user, which cannot reach the private folder of the test run.
    const dir = await mkdtemp("/tmp/gt-threads-db-");
    await chmod(dir, 0o711);
    const database = new TestDatabase(dir, from);
    await database.begin();
    return database;
  }

  async begin(): Promise<void> {
    const stop = new AbortController();
    const options = { stateDir: this.dir, env: { PATH: process.env["PATH"] }, from: this.#from };
    const server = new PostgresServer({ clock: systemClock, logger: createLogger("database", "silent") }, options);
    const done = server.run(stop.signal);
    done.catch(() => {}); // `ready` says the same
    this.#running = { stop, done, address: await server.ready };
  }

  /** Stops it gracefully. */
  async end(): Promise<void> {
    this.#running?.stop.abort();
    await this.#running?.done;
  }

  /** For `--database-url`; `folder`: the folder of another socket, such as a proxy's. */
  url(folder = this.folder): string {
    return `postgres://threads@localhost:5432/postgres?host=${encodeURIComponent(folder)}`;
  }

  /** The folder of its socket. */
  get folder(): string {
    return this.#running?.address.host ?? "";
  }

  /** The pid of its first process. */
  get pid(): number {
    return Number(readFileSync(join(this.dir, "postgres/data/postmaster.pid"), "utf8").split("\n")[0]) || NO_PID;
  }

  /** Kills its first process, which restarts by itself; does nothing while it is still restarting. */
  crash(): void {
    try {
      process.kill(this.pid, "SIGKILL");
    } catch (err) {
      if (!["ESRCH", "ENOENT"].includes((err as NodeJS.ErrnoException).code ?? "")) throw err;
    }
  }

  /** Runs one statement on its own connection. */
  async query<R extends object>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    const pool = new Pool({ connectionString: this.url(), max: 1 });
    try {
      return (await pool.query(text, [...values])).rows as R[];
    } finally {
      await pool.end();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
    await rm(this.dir, { recursive: true, force: true });
  }
}
