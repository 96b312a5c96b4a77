import { rmSync } from "node:fs";
import { createConnection, createServer, type Socket } from "node:net";
import { aborted } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import type { Task } from "../base/task-group.ts";

/** What the serving half tells the supervising one; one JSON object a line. */
export type ControlMessage =
  /** The event loop turns. */
  | { readonly type: "alive" }
  /** End the agent; 0 ms: as long as the supervising half has. */
  | { readonly type: "stop"; readonly graceMs: number; readonly force: boolean }
  /** The agent has ended for good: leave with this exit code. */
  | { readonly type: "finish"; readonly exitCode: number };

const MAX_LINE_BYTES = 4096;
const ALIVE_EVERY_MS = 1000;

/** The supervising half's ear: a unix socket in the state folder. */
export class ControlListener implements Task {
  readonly #path: string;
  readonly #onMessage: (message: ControlMessage) => void;
  readonly #logger: Logger;

  constructor(deps: { readonly logger: Logger; readonly onMessage: (message: ControlMessage) => void }, path: string) {
    this.#logger = deps.logger;
    this.#onMessage = deps.onMessage;
    this.#path = path;
  }

  async run(signal: AbortSignal): Promise<void> {
    rmSync(this.#path, { force: true });
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
      socket.on("error", () => {});
      this.#read(socket);
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.on("error", reject);
    server.listen(this.#path, resolve);
    await promise;
    await aborted(signal);
    for (const socket of sockets) socket.destroy();
    await new Promise((closed) => server.close(closed));
  }

  #read(socket: Socket): void {
    let pending = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      pending += chunk;
      const lines = pending.split("\n");
      pending = lines.pop() ?? "";
      if (pending.length > MAX_LINE_BYTES) socket.destroy();
      for (const line of lines) this.#take(line);
    });
  }

  #take(line: string): void {
    const message = parseControlMessage(line);
    if (message === undefined) this.#logger.warn("a line on the control socket was not understood");
    else this.#onMessage(message);
  }
}

/** Undefined for anything that is not a message: the agent shares the folder, so it may write here. */
export function parseControlMessage(line: string): ControlMessage | undefined {
  try {
    const value = JSON.parse(line);
    if (value?.type === "alive") return { type: "alive" };
    if (value?.type === "stop" && Number.isSafeInteger(value.graceMs) && value.graceMs >= 0) {
      return { type: "stop", graceMs: value.graceMs, force: value.force === true };
    }
    if (value?.type === "finish" && Number.isInteger(value.exitCode) && value.exitCode >= 0 && value.exitCode <= 255) {
      return { type: "finish", exitCode: value.exitCode };
    }
  } catch {
    return undefined;
  }
  return undefined;
}

/** The serving half's voice. Connects again for ever; the last `stop` and `finish` are told anew after each connect. */
export class ControlClient implements Task {
  readonly #clock: Clock;
  readonly #path: string;
  #stop: ControlMessage | undefined;
  #finish: ControlMessage | undefined;
  #socket: Socket | undefined;

  constructor(deps: { readonly clock: Clock }, path: string) {
    this.#clock = deps.clock;
    this.#path = path;
  }

  stop(order: { readonly graceMs: number; readonly force: boolean }): void {
    this.#stop = { type: "stop", ...order };
    this.#tell(this.#stop);
  }

  finish(exitCode: number): void {
    this.#finish = { type: "finish", exitCode };
    this.#tell(this.#finish);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#connected(signal);
      await this.#clock.sleep(200, signal).catch(() => {});
    }
  }

  async #connected(signal: AbortSignal): Promise<void> {
    const socket = createConnection(this.#path);
    const closed = new AbortController();
    socket.on("error", () => {});
    socket.on("close", () => closed.abort());
    socket.on("connect", () => {
      this.#socket = socket;
      this.#tell({ type: "alive" });
      for (const message of [this.#stop, this.#finish]) if (message !== undefined) this.#tell(message);
    });
    const either = AbortSignal.any([signal, closed.signal]);
    while (!either.aborted) {
      await this.#clock.sleep(ALIVE_EVERY_MS, either).catch(() => {});
      this.#tell({ type: "alive" });
    }
    this.#socket = undefined;
    socket.destroy();
  }

  #tell(message: ControlMessage): void {
    this.#socket?.write(`${JSON.stringify(message)}\n`);
  }
}
