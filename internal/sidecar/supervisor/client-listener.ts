import type { ChildProcess } from "node:child_process";
import { rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { raceSignal } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import { type ControlClientOptions, spawnControlClient } from "../../tmux/client/control-connection.ts";

export interface ClientListenerDeps {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Between the starts of two control clients. */
const PACE_MS = 10;

/**
 * Runs tmux's control client for the serving half. Whoever connects gets the stream of a client of its own: the connection
 * becomes the client's stdin and stdout, so its bytes pass through no process in between and are bounded by the socket. The
 * client ends with its stream. There is one at a time: the next connection ends the client before.
 */
export class ClientListener implements Task {
  readonly #deps: ClientListenerDeps;
  readonly #path: string;
  readonly #options: ControlClientOptions;
  #arrived = Promise.withResolvers<void>();
  /** The newest connection, which has no client yet. */
  #next: Socket | undefined;
  #client: ChildProcess | undefined;

  constructor(deps: ClientListenerDeps, path: string, options: ControlClientOptions) {
    this.#deps = deps;
    this.#path = path;
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    rmSync(this.#path, { recursive: true, force: true });
    // Not one byte is read here: what comes is for tmux.
    const server = createServer({ pauseOnConnect: true }, (stream) => this.#take(stream));
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.on("error", reject);
    server.listen(this.#path, resolve);
    await promise;
    try {
      while (!signal.aborted) {
        await raceSignal(this.#arrived.promise, signal).catch(() => {});
        if (!signal.aborted) this.#start();
        await this.#deps.clock.sleep(PACE_MS, signal).catch(() => {});
      }
    } finally {
      this.#next?.destroy();
      this.#client?.kill("SIGKILL");
      await new Promise((closed) => server.close(closed));
    }
  }

  #take(stream: Socket): void {
    stream.on("error", () => {});
    this.#next?.destroy();
    this.#next = stream;
    this.#arrived.resolve();
  }

  #start(): void {
    const stream = this.#next;
    this.#next = undefined;
    this.#arrived = Promise.withResolvers();
    if (stream === undefined) return;
    this.#client?.kill("SIGKILL");
    const client = spawnControlClient(this.#options, [stream, stream, "pipe"]);
    stream.destroy(); // this process's end of it: the client has its own
    this.#client = client;
    let words = "";
    client.stderr?.on("data", (chunk: Buffer) => {
      words = (words + chunk.toString()).slice(-200);
    });
    client.on("error", (err) => this.#deps.logger.warn({ err }, "tmux client could not be started"));
    client.on("exit", (code, signal) => {
      if (this.#client === client) this.#client = undefined;
      client.stderr?.destroy(); // a job of the server's may hold the other end for longer
      this.#deps.logger.debug({ code, signal, stderr: words.trim() }, "tmux client ended");
    });
  }
}
