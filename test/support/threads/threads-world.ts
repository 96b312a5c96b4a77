import { gt } from "../bridge/gt-transcript.ts";
import type { Ran } from "../run-to-end.ts";
import { McpCaller } from "./mcp-caller.ts";
import { runProgramOf } from "./run-threads.ts";
import { TestDatabase } from "./test-database.ts";
import { ThreadsServer } from "./threads-server.ts";

/** A clock of the database that precedes the built-in one on the server's search path. */
const CLOCK = [
  "create schema shifted",
  "create table shifted.clock (ahead interval not null)",
  "insert into shifted.clock values ('0')",
  `create function shifted.clock_timestamp() returns timestamptz language sql as
   'select pg_catalog.clock_timestamp() + ahead from shifted.clock'`,
];
const SEARCH_PATH = encodeURIComponent("-c search_path=shifted,pg_catalog,public");

/** Gives the database a clock that can be set; returns the address that uses it. */
export async function withClock(database: TestDatabase): Promise<string> {
  for (const statement of CLOCK) await database.query(statement);
  return `${database.url()}&options=${SEARCH_PATH}`;
}

/** Sets the database's clock ahead by a PostgreSQL interval. */
export async function setAhead(database: TestDatabase, interval: string): Promise<void> {
  await database.query("update shifted.clock set ahead = ahead + $1::interval", [interval]);
}

/** A threads server on a database whose clock can be set ahead, with callers. */
export class ThreadsWorld implements AsyncDisposable {
  readonly database: TestDatabase;
  readonly server: ThreadsServer;
  readonly #callers = new Map<string, McpCaller>();

  private constructor(database: TestDatabase, server: ThreadsServer) {
    this.database = database;
    this.server = server;
  }

  /** `postgres`: `npm` or `system`. */
  static async start(postgres: string): Promise<ThreadsWorld> {
    const database = await TestDatabase.start(postgres);
    const url = await withClock(database);
    const migrated = await runProgramOf("threads", ["migrate", "--database-url", database.url()]);
    if (migrated.code !== 0) throw new Error(migrated.stderr);
    return new ThreadsWorld(database, await ThreadsServer.start("--database-url", url, "--runtime", "none"));
  }

  /** An agent's MCP client, or a person's if the role is `operator`. */
  async as(agent: string, role = "worker"): Promise<McpCaller> {
    const key = `${agent} ${role}`;
    const known = this.#callers.get(key);
    if (known !== undefined) return known;
    const made = await McpCaller.connect(this.server.url, this.server.token(agent, role));
    this.#callers.set(key, made);
    return made;
  }

  /** `gt threads …` as the person of this machine, an operator. */
  gt(...args: string[]): Promise<Ran> {
    return gt(["threads", ...args], this.server.env);
  }

  /** Sets the database's clock ahead by a PostgreSQL interval. */
  async wait(interval: string): Promise<void> {
    await setAhead(this.database, interval);
  }

  /** Creates a thread of `by` with these participants, as `agent:role`. */
  async thread(by: McpCaller, participants: readonly string[], title = "work"): Promise<string> {
    const members = participants.map((one) => {
      const [agent_id = "", role] = one.split(":");
      return { agent_id, ...(role !== undefined && { role }) };
    });
    const { thread } = await by.call<{ thread: { thread_id: string } }>("create_thread", {
      ...{ title, participants: members },
    });
    return thread.thread_id;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#callers.values()) await one[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
    await this.database[Symbol.asyncDispose]();
  }
}
