import type { ChildProcess } from "node:child_process";
import { createServer, type Socket } from "node:net";
import { raceSignal } from "../../base/abort.ts";
import { backoffStepMs } from "../../base/backoff.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import { removeTree } from "../../files/remove-tree.ts";
import { type ControlClientOptions, spawnControlClient } from "../../tmux/client/control-connection.ts";

export interface ClientListenerDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Asks tmux through another client whether the session exists. */
  readonly hasSession: () => Promise<boolean>;
}

/** The pause between the starts of two control clients. */
const PACE_MS = 10;
/** How long a client that was asked to leave may take: tmux itself may hang. */
const LEAVE_MS = 1000;
/** How long to wait for a session that is being created. */
const SESSION_MS = 1000;
/**
 * How often tmux is asked for a missing session. Each question starts a program, and there may be no session for hours,
 * e.g. after the end of an agent that is not restarted.
 */
const ASK = { firstMs: PACE_MS, maxMs: 250, factor: 1.1 };

/**
 * Runs tmux's control client for the serving half. Each connection gets the stream of a client of its own: the
 * connection becomes the client's stdin and stdout, so its bytes pass through no process in between and are bounded by
 * the socket. The client ends with its stream. There is one client at a time: the next connection ends the previous
 * one.
 *
 * Before release 3.7 a tmux server crashes (SIGSEGV) if a control client is killed while it identifies itself, or if a
 * client leaves or a session is created at that moment. So a client is asked to leave, which it does between two
 * messages; and the next one begins only after tmux has answered another command, because all earlier messages have
 * then been handled.
 */
export class ClientListener implements Task {
  readonly #deps: ClientListenerDeps;
  readonly #path: string;
  readonly #options: ControlClientOptions;
  #arrived = Promise.withResolvers<void>();
  /** The newest connection, which has no client yet. */
  #next: Socket | undefined;
  #client: ChildProcess | undefined;
  /** How often tmux was asked for the session since the session last existed. */
  #misses = 0;

  constructor(deps: ClientListenerDeps, path: string, options: ControlClientOptions) {
    this.#deps = deps;
    this.#path = path;
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    removeTree(this.#path);
    // Not one byte is read here: the input is for tmux.
    const server = createServer({ pauseOnConnect: true }, (stream) => this.#take(stream));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.on("error", reject);
    server.listen(this.#path, resolve);
    await promise;
    try {
      while (!signal.aborted) {
        await raceSignal(this.#arrived.promise, signal).catch(() => {});
        if (!signal.aborted) await this.#replace(signal);
        await this.#deps.clock.sleep(PACE_MS, signal).catch(() => {});
      }
    } finally {
      // Accepts nothing while the client ends: a connection that is never read never closes, and keeps the server open.
      const closed = new Promise((resolve) => server.close(resolve));
      this.#next?.destroy();
      await this.#endClient();
      await closed;
    }
  }

  #take(stream: Socket): void {
    stream.on("error", () => {});
    this.#next?.destroy();
    this.#next = stream;
    this.#arrived.resolve();
  }

  async #replace(signal: AbortSignal): Promise<void> {
    await this.#endClient();
    const { clock } = this.#deps;
    const end = clock.monotonicMs() + SESSION_MS;
    while (!(await this.#isThere()) && clock.monotonicMs() < end && !signal.aborted) {
      await clock.sleep(backoffStepMs(ASK, this.#misses), signal).catch(() => {});
    }
    if (!signal.aborted) this.#start();
  }

  async #isThere(): Promise<boolean> {
    const isThere = await this.#deps.hasSession();
    this.#misses = isThere ? 0 : this.#misses + 1;
    return isThere;
  }

  async #endClient(): Promise<void> {
    const client = this.#client;
    if (client === undefined) return;
    const left = new AbortController();
    client.once("exit", () => left.abort());
    for (const name of ["SIGTERM", "SIGKILL"] as const) {
      if (this.#client !== client) return;
      client.kill(name);
      client.kill("SIGCONT"); // a stopped client does not handle TERM
      await this.#deps.clock.sleep(LEAVE_MS, left.signal).catch(() => {});
    }
  }

  #start(): void {
    const stream = this.#next;
    this.#next = undefined;
    this.#arrived = Promise.withResolvers();
    if (stream === undefined) return;
    const client = spawnControlClient(this.#options, [stream, stream, "pipe"]);
    stream.destroy(); // this process's end of it: the client has its own
    this.#client = client;
    let words = "";
    client.stderr?.on("error", () => {}); // its exit reports the failure
    client.stderr?.on("data", (chunk: Buffer) => {
      words = (words + chunk.toString()).slice(-200);
    });
    client.on("error", (err) => this.#deps.logger.warn({ err }, "tmux client could not be started"));
    client.on("exit", (code, signal) => {
      if (this.#client === client) this.#client = undefined;
      client.stderr?.destroy(); // a job of the tmux server may hold the other end for longer
      this.#deps.logger.debug({ code, signal, stderr: words.trim() }, "tmux client ended");
    });
  }
}
