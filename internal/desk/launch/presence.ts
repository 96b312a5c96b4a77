import { rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { aborted } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import type { Task } from "../../base/task-group.ts";

/** Ends the front some time after its last caller has left. */
export class CallerPresence implements Task {
  readonly #clock: Clock;
  readonly #path: string;
  readonly #lingerMs: number;

  constructor(clock: Clock, { path, lingerMs }: { readonly path: string; readonly lingerMs: number }) {
    this.#clock = clock;
    this.#path = path;
    this.#lingerMs = lingerMs;
  }

  /** Resolves when no caller has been connected for `lingerMs`, or when the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const idle = new AbortController();
    const callers = new Set<Socket>();
    let alone = new AbortController();
    const wait = () => {
      alone = new AbortController();
      const waited = this.#clock.sleep(this.#lingerMs, AbortSignal.any([signal, alone.signal]));
      waited.then(() => idle.abort()).catch(() => {});
    };
    rmSync(this.#path, { force: true });
    const ended = AbortSignal.any([signal, idle.signal]);
    const server = createServer((socket) => {
      alone.abort();
      callers.add(socket);
      socket.on("error", () => {}).on("close", () => callers.delete(socket) && callers.size === 0 && wait());
      socket.resume();
    });
    const listening = Promise.withResolvers<void>();
    server
      .on("error", listening.reject) // a later error means that a connection could not be accepted
      .listen(this.#path, () => listening.resolve());
    await listening.promise;
    wait();
    await aborted(ended);
    for (const socket of callers) socket.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
    alone.abort();
  }
}

/** Stays connected until disposed of. @throws the system's error, e.g. when nothing listens */
export async function attend(path: string): Promise<Disposable & { readonly isGone: boolean }> {
  const socket = connect(path);
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject).once("connect", resolve);
  });
  socket.on("error", () => {}).resume();
  return {
    get isGone() {
      return socket.destroyed || socket.readableEnded;
    },
    [Symbol.dispose]: () => socket.destroy(),
  };
}
