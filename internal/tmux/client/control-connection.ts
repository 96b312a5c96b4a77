import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import type { Clock } from "../../base/clock.ts";
import type { Environment } from "../../base/environment.ts";
import type { ByteStream, OpenStream, StreamEvents } from "../control/byte-stream.ts";
import { withoutTmux } from "./environment.ts";

export interface ControlClientOptions {
  readonly tmuxProgram: string;
  readonly socketPath: string;
  /** Name of the session to attach to; matched exactly. */
  readonly session: string;
  /** Environment of the tmux client; variables named `TMUX…` are removed. Give at least PATH. */
  readonly env: Environment;
}

/** How long the server's last output may take to arrive after the client is gone. */
const DRAIN_MS = 200;

/**
 * Starts a control client that gets no pane output. tmux itself reads and writes the descriptors of stdin and stdout.
 */
export function spawnControlClient(options: ControlClientOptions, stdio: StdioOptions): ChildProcess {
  const { tmuxProgram, socketPath, session, env } = options;
  // -N: a client that connects before the server listens must not start another server on our socket. -E: our
  // environment must not enter the session.
  const attach = ["attach-session", "-E", "-t", `=${session}`, "-f", "ignore-size,no-output"];
  // detached: a Ctrl-C at our terminal must not end the client, because we may still need tmux to end gracefully.
  return spawn(tmuxProgram, ["-N", "-u", "-S", socketPath, "-C", ...attach], {
    env: withoutTmux(env),
    stdio,
    detached: true,
  });
}

/** The streams of control clients that are children of this process: each call starts one. */
export function controlClients(deps: { readonly clock: Clock }, options: ControlClientOptions): OpenStream {
  return (events) => new ControlConnection(deps.clock, spawnControlClient(options, "pipe"), options, events);
}

class ControlConnection implements ByteStream {
  readonly #child: ChildProcess;
  #stderr = "";
  #reason: string | undefined;
  #closed = false;

  constructor(clock: Clock, child: ChildProcess, { tmuxProgram }: ControlClientOptions, events: StreamEvents) {
    this.#child = child;
    const close = () => {
      if (this.#closed) return;
      this.#closed = true;
      gone.abort();
      events.onClosed(this.#reason ?? (this.#stderr.trim() || "the client exited"));
    };
    const gone = new AbortController();
    child.stdout?.on("data", (chunk: Buffer) => events.onBytes(chunk));
    child.stderr?.on("error", () => {}); // the child's exit reports the failure
    child.stderr?.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString()).slice(-200);
    });
    // The server itself holds the other ends of the pipes; after an error on one of them the client ends too.
    child.stdin?.on("error", () => this.#drop("the pipe to tmux broke"));
    child.stdout?.on("error", () => this.#drop("the pipe from tmux broke"));
    child.on("error", (err) => {
      this.#reason ??= `cannot run ${tmuxProgram}: ${err.message}`;
      close();
    });
    // The server holds the other ends of the pipes, so a hanging server would keep them open.
    child.on("exit", () => {
      clock.sleep(DRAIN_MS, gone.signal).then(
        () => this.#closePipes(),
        () => {},
      );
    });
    child.on("close", close);
  }

  write(text: string): void {
    this.#child.stdin?.write(text);
  }

  end(): void {
    this.#child.stdin?.end();
  }

  destroy(): void {
    this.#child.kill("SIGKILL");
    this.#closePipes();
  }

  #drop(reason: string): void {
    this.#reason ??= reason;
    this.destroy();
  }

  #closePipes(): void {
    for (const pipe of this.#child.stdio ?? []) pipe?.destroy();
  }
}
