import { randomUUID } from "node:crypto";
import { Client, type ClientConfig, type Pool } from "pg";
import { firstOf, raceSignal, within } from "../../base/abort.ts";
import { backoffMs } from "../../base/backoff.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import { runTasks, type Task } from "../../base/task-group.ts";
import type { Change, Changes } from "../domain/changes.ts";
import { type DatabaseAddress, openPool } from "./database.ts";

interface Deps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pool: Pool;
  readonly address: DatabaseAddress;
}

const CHANNEL = "threads_changes";
const COALESCE_MS = 20;
/** Largest payload of a notification, bytes; PostgreSQL allows less than 8,000. */
const MAX_PAYLOAD = 7900;
const LOOK_MS = 1000;
const LOOK_DEAF_MS = 250;
const PROBE_EVERY_MS = 30_000;
const PROBE_MS = 3000;
/** The age of changes that each poll still reads; longer than any of our transactions. */
const OVERLAP = "15 seconds";
const RETRY = { firstMs: 100, maxMs: 5000, factor: 2 };

/**
 * Notifies of commits: subscribers in this process at once, other processes by NOTIFY over a connection of its own, at
 * most every 20 ms. It also polls for changed threads, since notifications may be lost: every second, or four times a
 * second while no notifications arrive, as behind a pooler in transaction mode.
 */
export class ChangesFeed implements Changes, Task {
  readonly #deps: Deps;
  readonly #id = randomUUID();
  readonly #listeners = new Set<(change: Change | undefined) => void>();
  readonly #known = new Map<string, string>();
  #pending: Change[] = [];
  #wake = Promise.withResolvers<void>();
  #probe: string | undefined;
  #heardProbe = true;
  /** A warning that probes do not arrive has been logged; false again once a probe arrives. */
  #isLoggedDeaf = false;
  #isListening = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Whether notifications of other processes arrive. */
  get hears(): boolean {
    return this.#isListening && this.#heardProbe;
  }

  publish(change: Change): void {
    this.#tell(change);
    this.#pending.push(change);
    this.#wake.resolve();
  }

  subscribe(heard: (change: Change | undefined) => void): Disposable {
    this.#listeners.add(heard);
    return { [Symbol.dispose]: () => void this.#listeners.delete(heard) };
  }

  async run(signal: AbortSignal): Promise<void> {
    await runTasks(signal, [
      { run: (stop) => this.#listen(stop) },
      { run: (stop) => this.#notify(stop) },
      { run: (stop) => this.#look(stop) },
    ]);
  }

  #tell(change: Change | undefined): void {
    for (const listener of [...this.#listeners]) listener(change);
  }

  /** Notifies on its own connection, so that posts and notifications never wait for each other. */
  async #notify(signal: AbortSignal): Promise<void> {
    const { clock, address, logger } = this.#deps;
    const onError = (err: Error) =>
      logger.debug({ err }, "the connection for sending notifications broke; reconnecting");
    const pool = openPool(address, onError, { size: 1, name: "threads notify" });
    let failing = false;
    try {
      while (!signal.aborted) {
        await raceSignal(this.#wake.promise, signal).catch(() => {});
        await clock.sleep(COALESCE_MS, signal).catch(() => {});
        this.#wake = Promise.withResolvers<void>();
        const changes = this.#pending;
        this.#pending = [];
        if (changes.length === 0) continue;
        try {
          await pool.query("select pg_notify($1, $2)", [CHANNEL, this.#payload(changes)]);
          failing = false;
        } catch (err) {
          if (!failing) logger.warn({ err }, "other processes cannot be notified; they find changes by polling");
          failing = true;
        }
      }
    } finally {
      await pool.end().catch(() => {});
    }
  }

  #payload(changes: readonly Change[]): string {
    const unique = [...new Set(changes.map((change) => JSON.stringify(change)))];
    const text = `${this.#id} [${unique.join(",")}]`;
    return Buffer.byteLength(text) <= MAX_PAYLOAD ? text : `${this.#id} *`;
  }

  async #listen(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        await this.#listenOnce(signal, () => (attempt = 0));
      } catch (err) {
        if (!signal.aborted) logger.warn({ err }, "the connection for receiving notifications broke; reconnecting");
      }
      this.#isListening = false;
      await clock.sleep(backoffMs(RETRY, attempt, Math.random), signal).catch(() => {});
    }
  }

  async #listenOnce(signal: AbortSignal, onListening: () => void): Promise<void> {
    const { clock, address, pool, logger } = this.#deps;
    const place: ClientConfig = "url" in address ? { connectionString: address.url } : { ...address };
    const client = new Client({ ...place, connectionTimeoutMillis: 5000, application_name: "threads listen" });
    const broken = Promise.withResolvers<never>();
    broken.promise.catch(() => {});
    client.on("error", (err) => broken.reject(err));
    client.on("end", () => broken.reject(new Error("the connection was closed")));
    client.on("notification", ({ payload = "" }) => this.#heard(payload));
    try {
      await client.connect();
      await client.query(`listen ${CHANNEL}`);
      this.#isListening = true;
      onListening();
      this.#tell(undefined); // changes up to now were missed
      while (!signal.aborted) {
        this.#probe = randomUUID();
        this.#heardProbe = false;
        await pool.query("select pg_notify($1, $2)", [CHANNEL, `probe ${this.#probe}`]);
        await firstOf(
          signal,
          () => broken.promise,
          (stop) => this.#probeHeard(stop),
        );
        if (this.#heardProbe) this.#isLoggedDeaf = false;
        else if (!this.#isLoggedDeaf && !signal.aborted) {
          this.#isLoggedDeaf = true;
          logger.warn("notifications of the database do not arrive; changes are found by polling");
        }
        await within(clock, PROBE_EVERY_MS, broken.promise, signal);
      }
    } finally {
      await client.end().catch(() => {});
    }
  }

  async #probeHeard(signal: AbortSignal): Promise<void> {
    for (let waited = 0; waited < PROBE_MS && !this.#heardProbe && !signal.aborted; waited += COALESCE_MS) {
      await this.#deps.clock.sleep(COALESCE_MS, signal).catch(() => {});
    }
  }

  #heard(payload: string): void {
    const at = payload.indexOf(" ");
    const [from, text] = [payload.slice(0, at), payload.slice(at + 1)];
    if (from === "probe") {
      if (text === this.#probe) this.#heardProbe = true;
      return;
    }
    if (from === this.#id) return;
    for (const change of changesOf(text)) this.#tell(change);
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    let failing = false;
    while (!signal.aborted) {
      await clock.sleep(this.hears ? LOOK_MS : LOOK_DEAF_MS, signal).catch(() => {});
      if (this.#listeners.size === 0 || signal.aborted) continue;
      try {
        await this.#lookOnce();
        if (failing) this.#tell(undefined);
        failing = false;
      } catch (err) {
        if (!failing) logger.warn({ err }, "the database cannot be polled");
        failing = true;
      }
    }
  }

  async #lookOnce(): Promise<void> {
    const { rows } = await this.#deps.pool.query<{ workspace_id: string; thread_id: string; mark: string }>(
      `select workspace_id, thread_id, last_seq || ' ' || version as mark from threads.thread
       where updated_at > clock_timestamp() - $1::interval`,
      [OVERLAP],
    );
    const seen = new Set<string>();
    for (const { workspace_id: workspace, thread_id: threadId, mark } of rows) {
      const key = JSON.stringify([workspace, threadId]);
      seen.add(key);
      if (this.#known.get(key) === mark) continue;
      this.#known.set(key, mark);
      this.#tell({ workspace, kind: "message", threadId });
    }
    for (const key of this.#known.keys()) if (!seen.has(key)) this.#known.delete(key);
  }
}

/** The changes in a notification; undefined: it does not name them. */
function changesOf(text: string): readonly (Change | undefined)[] {
  try {
    return text === "*" ? [undefined] : (JSON.parse(text) as readonly Change[]);
  } catch {
    return [undefined];
  }
}
