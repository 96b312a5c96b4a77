import { type ChildProcess, execFile, spawn } from "node:child_process";
import { lstat, unlink } from "node:fs/promises";
import { createConnection } from "node:net";
import { aborted } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import type { Environment } from "../../base/environment.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import { MAX_SOCKET_PATH_BYTES } from "../../files/temporary-folder.ts";
import { withoutTmux } from "./environment.ts";

export interface TmuxServerOptions {
  readonly tmuxProgram: string;
  readonly socketPath: string;
  /** A file with `serverConfig`'s text. tmux reads it when the first client connects. */
  readonly configPath: string;
  /** Passed on to the agent; variables named `TMUX…` are removed. */
  readonly env: Environment;
  /** How long each step of stopping (kill-server, TERM) may take before the next; default 1000. */
  readonly stopStepMs?: number;
}

export interface ServerExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * A private tmux server as a direct child of this process, so that its end is noticed at once. Use an instance only
 * once.
 */
export class TmuxServer implements Task {
  readonly #deps: { readonly clock: Clock; readonly logger: Logger };
  readonly #options: TmuxServerOptions;
  #child: ChildProcess | undefined;
  #exit: ServerExit | undefined;
  #stderr = "";

  constructor(deps: { readonly clock: Clock; readonly logger: Logger }, options: TmuxServerOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** The server's pid; absent before the start. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** The server's end; absent while it runs. */
  get exit(): ServerExit | undefined {
    return this.#exit;
  }

  /**
   * Resolves when the server has ended: by itself (see `exit`), or because `signal` was aborted.
   * @throws DomainError `already-exists` when another server answers on the socket, `precondition` when tmux cannot be
   * run, `invalid` when the socket's path is too long
   */
  async run(signal: AbortSignal): Promise<void> {
    const { tmuxProgram, socketPath, configPath, env } = this.#options;
    checkSocketPath(socketPath);
    await removeStaleSocket(socketPath);
    if (signal.aborted) return;
    const child = spawn(tmuxProgram, ["-u", "-S", socketPath, "-f", configPath, "-D"], {
      env: withoutTmux(env),
      stdio: ["ignore", "ignore", "pipe"],
      detached: true, // otherwise keys such as ^C at our own terminal would also end the server
    });
    this.#child = child;
    const gone = this.#untilGone(child);
    const done = new AbortController();
    const stopping = this.#stopOnAbort(AbortSignal.any([signal, done.signal]), done.signal, child);
    try {
      await gone;
    } finally {
      done.abort();
      await stopping;
    }
    const fields = { pid: child.pid, code: this.#exit?.code, signal: this.#exit?.signal, stderr: this.#stderr };
    if (signal.aborted) this.#deps.logger.debug(fields, "tmux server stopped");
    else this.#deps.logger.warn(fields, "tmux server ended by itself");
  }

  #untilGone(child: ChildProcess): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    child.stderr?.on("error", () => {}); // its exit reports the failure
    child.stderr?.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString()).slice(-500);
    });
    child.on("error", (err) => {
      reject(
        new DomainError("precondition", `cannot run ${this.#options.tmuxProgram}: ${err.message}`, { cause: err }),
      );
    });
    child.on("exit", (code, signal) => {
      this.#exit = { code, signal };
      // The server's last output is already in the pipe, and a job that it started may hold the other end for much
      // longer.
      setImmediate(() => child.stderr?.destroy());
    });
    child.on("close", () => resolve());
    return promise;
  }

  /**
   * Stops the server with kill-server, which lets clients leave in order, then TERM, then KILL: a hanging client can
   * block the first two.
   */
  async #stopOnAbort(stop: AbortSignal, gone: AbortSignal, child: ChildProcess): Promise<void> {
    await aborted(stop);
    const steps = [() => this.#killServer(), () => child.kill("SIGTERM"), () => child.kill("SIGKILL")];
    for (const step of steps) {
      if (gone.aborted || this.#exit || child.pid === undefined) return;
      step();
      await this.#deps.clock.sleep(this.#options.stopStepMs ?? 1000, gone).catch(() => {});
    }
  }

  #killServer(): void {
    const { tmuxProgram, socketPath, env, stopStepMs = 1000 } = this.#options;
    const limits = { env: withoutTmux(env), timeout: stopStepMs, killSignal: "SIGKILL" } as const;
    // A failure is ignored, because the next step follows anyway.
    execFile(tmuxProgram, ["-N", "-S", socketPath, "kill-server"], limits, () => {});
  }
}

/**
 * Removes a socket on which no server listens any more. tmux itself would silently replace a live server's socket.
 * @throws DomainError `already-exists` when a server answers, or when another kind of file has that path
 */
async function removeStaleSocket(socketPath: string): Promise<void> {
  const state = await probeSocket(socketPath);
  if (state === "live") {
    throw new DomainError("already-exists", `a tmux server already runs on ${socketPath}`, {
      fields: { socket: socketPath },
    });
  }
  if (state === "absent") return;
  const file = await lstat(socketPath).catch(() => undefined);
  if (file && !file.isSocket()) {
    throw new DomainError("already-exists", `cannot listen on ${socketPath}: another file is in the way`);
  }
  await unlink(socketPath).catch(() => {});
}

function checkSocketPath(socketPath: string): void {
  const bytes = Buffer.byteLength(socketPath);
  if (bytes <= MAX_SOCKET_PATH_BYTES) return;
  const limit = `${bytes} bytes, at most ${MAX_SOCKET_PATH_BYTES}`;
  throw new DomainError("invalid", `the path of the tmux socket is too long (${limit}): ${socketPath}`);
}

function probeSocket(socketPath: string): Promise<"live" | "stale" | "absent"> {
  const { promise, resolve } = Promise.withResolvers<"live" | "stale" | "absent">();
  const socket = createConnection(socketPath);
  socket.on("connect", () => {
    socket.destroy();
    resolve("live");
  });
  socket.on("error", (err: NodeJS.ErrnoException) => {
    // EAGAIN: the backlog is full, so a server owns the socket.
    if (err.code === "ENOENT") resolve("absent");
    else resolve(err.code === "EAGAIN" || err.code === "EACCES" ? "live" : "stale");
  });
  return promise;
}
