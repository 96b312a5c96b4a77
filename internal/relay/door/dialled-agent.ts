import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { WebSocket } from "ws";
import { backoffMs } from "../../base/backoff.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";

export interface DialledAgentOptions {
  readonly url: string;
  /** An ACP agent that speaks stdio: one frame a line. */
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string | undefined>>;
}

type Agent = ChildProcessByStdio<Writable, Readable, null>;

const BACKOFF = { firstMs: 100, maxMs: 10_000, factor: 2 };
const SUPERSEDED = 4001;
const STOP_MS = 3000;
const MAX_FRAME_BYTES = 16 * 1024 * 1024;

/**
 * Runs an agent and carries its frames, unread, to a relay and back. When either end goes, the agent's process group is
 * ended, and both begin again after a growing wait.
 */
export class DialledAgent implements Task {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #options: DialledAgentOptions;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }, options: DialledAgentOptions) {
    this.#clock = clock;
    this.#logger = logger;
    this.#options = options;
  }

  /** @throws DomainError `invalid` when the relay refuses the request for what it is; `already-exists`: superseded */
  async run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures++) {
      const socket = await this.#open(signal);
      if (socket !== undefined) {
        failures = 0;
        const code = await this.#carry(socket, signal);
        if (code === SUPERSEDED)
          throw new DomainError("already-exists", "superseded: this agent is connected elsewhere");
      }
      await this.#clock.sleep(backoffMs(BACKOFF, failures, Math.random), signal).catch(() => {});
    }
  }

  /** Undefined: not now. */
  async #open(signal: AbortSignal): Promise<WebSocket | undefined> {
    const socket = new WebSocket(this.#options.url, ["acp.v1"], { maxPayload: MAX_FRAME_BYTES });
    const { promise, resolve, reject } = Promise.withResolvers<WebSocket | undefined>();
    socket.once("open", () => {
      socket.pause(); // the relay's first frames can come with its answer, before someone listens
      resolve(socket);
    });
    socket.on("error", (err) => {
      this.#logger.warn({ action: "dial_failed", err: err.message }, "the relay cannot be reached");
      resolve(undefined);
    });
    socket.once("unexpected-response", (_request, response) => {
      const { statusCode = 0 } = response;
      response.resume();
      this.#logger.warn({ action: "dial_refused", status: statusCode }, "the relay refuses the connection");
      const isFinal = statusCode < 500 && statusCode !== 409 && statusCode !== 429;
      if (isFinal) reject(new DomainError("invalid", `the relay refuses the connection with ${statusCode}`));
      else resolve(undefined);
    });
    const stop = () => {
      socket.terminate();
      resolve(undefined);
    };
    signal.addEventListener("abort", stop, { once: true });
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", stop);
      if (socket.readyState !== socket.OPEN) socket.terminate();
    }
  }

  /** Until one of the two ends; the close code. */
  async #carry(socket: WebSocket, signal: AbortSignal): Promise<number> {
    const { argv, env } = this.#options;
    const [program, ...args] = argv;
    // A group of its own, so that nothing the agent starts outlives it.
    const agent: Agent = spawn(program, args, { env: { ...env }, detached: true, stdio: ["pipe", "pipe", "inherit"] });
    const exited = new Promise<void>((resolve) => {
      agent.once("close", () => resolve());
      agent.once("error", (err) => {
        this.#logger.error({ action: "agent_failed", err: err.message }, "the agent cannot be started");
        resolve();
      });
    });
    agent.stdin.on("error", () => {}); // it has ended, and that is seen
    const closed = once(socket, "close").then(([code]) => Number(code));
    const lines = new Lines((line) => socket.send(line));
    agent.stdout.on("data", (chunk: Buffer) => {
      if (!lines.add(chunk)) socket.close(1009, "the agent's line is too long");
    });
    socket.on("message", (data) => agent.stdin.write(`${data.toString()}\n`));
    socket.resume();
    this.#logger.info({ action: "dialled" }, "the agent is connected");
    const stop = () => socket.close(1001, "the agent is shutting down");
    signal.addEventListener("abort", stop, { once: true });
    void exited.then(() => socket.close(1000, "the agent has ended"));
    try {
      const code = await closed;
      this.#logger.info({ action: "hung_up", code }, "the connection has ended");
      return code;
    } finally {
      signal.removeEventListener("abort", stop);
      await this.#end(agent, exited);
    }
  }

  async #end(agent: Agent, exited: Promise<void>): Promise<void> {
    const left = new AbortController();
    agent.stdin.end();
    kill(agent, "SIGTERM");
    const late = this.#clock.sleep(STOP_MS, left.signal).then(
      () => kill(agent, "SIGKILL"),
      () => {},
    );
    await exited;
    kill(agent, "SIGKILL"); // what it has started and left
    left.abort(new Error("ended"));
    await late;
  }
}

function kill({ pid }: Agent, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The whole group has ended.
  }
}

/** Cuts a stream into lines. */
class Lines {
  readonly #onLine: (line: string) => void;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** False: a line is longer than a frame may be. */
  add(chunk: Buffer): boolean {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      const line = Buffer.concat([...this.#parts, chunk.subarray(from, at)]).toString("utf8");
      this.#parts = [];
      this.#bytes = 0;
      from = at + 1;
      if (line.trim() !== "") this.#onLine(line);
    }
    const rest = chunk.subarray(from);
    if (rest.length > 0) this.#parts.push(rest);
    this.#bytes += rest.length;
    return this.#bytes <= MAX_FRAME_BYTES;
  }
}
