import type { JsonObject } from "@bufbuild/protobuf";
import type { ThreadsClient } from "../../../internal/threads/client/threads-client.ts";
import type { Random } from "../../fuzz/random.ts";
import { runProgramOf } from "../../support/threads/run-threads.ts";
import { TestDatabase } from "../../support/threads/test-database.ts";
import { ThreadsServer } from "../../support/threads/threads-server.ts";

/** A policy whose guards and limits do not affect a load. */
const FREE = {
  ...{ turns: 1_000_000, repeats: 1_000_000, hops: 1_000_000, runaway_per_hour: 1_000_000 },
  ...{ posts_per_minute: 1_000_000, wakes_per_minute: 10_000 },
};

const CALL_MS = 20_000;
const STARTS = 50;

/** Two servers on one PostgreSQL, each of which can be killed at any instant. */
export class TwoServers implements AsyncDisposable {
  readonly database: TestDatabase;
  readonly servers: readonly [ThreadsServer, ThreadsServer];
  readonly #clients = new Map<string, ThreadsClient>();
  /** Servers that are being killed and restarted. */
  readonly #away = new Map<ThreadsServer, Promise<void>>();

  private constructor(database: TestDatabase, servers: readonly [ThreadsServer, ThreadsServer]) {
    this.database = database;
    this.servers = servers;
  }

  /** `runtime`: see `threads serve --runtime`. `ports`: the servers' ports; default: new ones after each start. */
  static async start(
    runtime: "local" | "none",
    postgres = "system",
    ports: readonly [number, number] = [0, 0],
  ): Promise<TwoServers> {
    await using started = new AsyncDisposableStack();
    const database = started.use(await TestDatabase.start(postgres));
    const migrated = await runProgramOf("threads", ["migrate", "--database-url", database.url()]);
    if (migrated.code !== 0) throw new Error(`threads migrate: ${migrated.stderr}`);
    const flags = (port: number) => ["--database-url", database.url(), "--runtime", runtime, ...listenAt(port)];
    const one = started.use(await ThreadsServer.start(...flags(ports[0])));
    const bed = new TwoServers(database, [one, started.use(await one.beside({}, flags(ports[1])))]);
    await bed.call(0, "person", "set_policy", { policy: FREE }, "operator");
    started.move();
    return bed;
  }

  /** Calls one of the servers at its present address. @throws the errors of `ThreadsClient.call` */
  async call(at: number, agent: string, name: string, input: object, role = "worker"): Promise<JsonObject> {
    const server = this.servers[at % 2] as ThreadsServer;
    const key = `${server.url} ${agent}`;
    const client = this.#clients.get(key) ?? server.client(agent, role);
    this.#clients.set(key, client);
    return await client.call(name, input, AbortSignal.timeout(CALL_MS));
  }

  /** Creates a thread with these agents; returns its id. */
  async newThread(title: string, agents: readonly string[]): Promise<string> {
    const participants = agents.map((agent_id) => ({ agent_id }));
    const made = await this.call(0, "lead", "create_thread", { title, participants }, "orchestrator");
    return String((made["thread"] as JsonObject)["thread_id"]);
  }

  /** Kills a server or the database at random, and starts it again; returns which one it was. */
  async killOne(random: Random): Promise<"server" | "postgres"> {
    if (random(3) === 0) {
      this.database.crash();
      return "postgres";
    }
    const server = this.servers[random(2)] as ThreadsServer;
    await this.#away.get(server);
    const back = server.end("SIGKILL").then(() => beginAgain(server));
    this.#away.set(server, back);
    await back;
    return "server";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#away.values());
    for (const client of this.#clients.values()) client[Symbol.dispose]();
    for (const server of this.servers.toReversed()) await server[Symbol.asyncDispose]();
    await this.database[Symbol.asyncDispose]();
  }
}

function listenAt(port: number): readonly string[] {
  return port === 0 ? [] : ["--listen", `127.0.0.1:${port}`];
}

/** Waits for all of the work, even after a failure, which `onFailure` reports at once. @throws the first failure */
export async function together(work: readonly Promise<void>[], onFailure: () => void): Promise<void> {
  const failures: unknown[] = [];
  const fail = (err: unknown) => {
    onFailure();
    failures.push(err);
  };
  await Promise.all(work.map((one) => one.catch(fail)));
  if (failures.length > 0) throw failures[0];
}

/** Starts a killed server again, as a supervisor would: a server that cannot reach the database at its start exits. */
async function beginAgain(server: ThreadsServer): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await server.begin();
    } catch (err) {
      if (attempt > STARTS) throw err;
    }
  }
}
