import type { Pool } from "pg";
import { systemClock } from "../../../internal/base/clock.ts";
import type { Changes } from "../../../internal/threads/domain/changes.ts";
import { DEFAULT_POLICY } from "../../../internal/threads/domain/policy.ts";
import type { Principal } from "../../../internal/threads/domain/types.ts";
import type { ServiceDeps } from "../../../internal/threads/service/access.ts";
import { postMessage } from "../../../internal/threads/service/post.ts";
import { PostLimiter } from "../../../internal/threads/service/post-limiter.ts";
import { createThread } from "../../../internal/threads/service/threads.ts";
import { openPool } from "../../../internal/threads/store/database.ts";
import { migrate } from "../../../internal/threads/store/migrate.ts";
import { PgStore } from "../../../internal/threads/store/pg-store.ts";
import { PgWakes } from "../../../internal/threads/store/pg-wakes.ts";
import { TestDatabase } from "./test-database.ts";
import { setAhead, withClock } from "./threads-world.ts";

const WORKSPACE = "default";
const DEAF: Changes = { publish: () => {}, subscribe: () => ({ [Symbol.dispose]: () => {} }) };

/** The threads service on a PostgreSQL whose clock can be set ahead, without a server: the test performs each step. */
export class ThreadsGround implements AsyncDisposable {
  readonly database: TestDatabase;
  readonly service: ServiceDeps;
  readonly wakes: PgWakes;
  readonly #pool: Pool;

  private constructor(database: TestDatabase, pool: Pool) {
    this.database = database;
    this.#pool = pool;
    this.wakes = new PgWakes(pool);
    const monotonicMs = () => systemClock.monotonicMs();
    const store = new PgStore(pool, DEFAULT_POLICY, monotonicMs);
    this.service = { store, changes: DEAF, limiter: new PostLimiter(monotonicMs), clock: systemClock };
  }

  static async start(): Promise<ThreadsGround> {
    const database = await TestDatabase.start();
    const pool = openPool({ url: await withClock(database) }, () => {}, { patient: true });
    await migrate(pool);
    return new ThreadsGround(database, pool);
  }

  caller(agent: string, role = "worker"): Principal {
    const session = `s-${agent}`;
    return { workspace: WORKSPACE, agent, role, kind: "agent", session, expiresAt: 0, correlationId: "test" };
  }

  /** Creates a thread of the lead with an agent, and a message for it. */
  async message(agent: string, text = "please"): Promise<string> {
    const lead = this.caller("lead", "orchestrator");
    const participants = [{ agent_id: agent, role: "worker" }];
    const { thread } = await createThread(this.service, lead, { title: "work", participants });
    await postMessage(this.service, lead, { thread_id: thread.thread_id, text });
    return thread.thread_id;
  }

  /** Its wakes, oldest first. */
  async wakesOf(agent: string): Promise<readonly { readonly state: string; readonly reason: string }[]> {
    const found = await this.service.store.reads(WORKSPACE).wakes({ agent, limit: 100 });
    return found.map(({ state, reason }) => ({ state, reason })).toReversed();
  }

  async wait(interval: string): Promise<void> {
    await setAhead(this.database, interval);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end();
    await this.database[Symbol.asyncDispose]();
  }
}
