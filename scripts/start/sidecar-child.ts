import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Clock } from "../../internal/base/clock.ts";
import { DomainError } from "../../internal/base/errors.ts";
import { readLogLine, type SidecarNews } from "./sidecar-log.ts";

export interface SidecarProcessOptions {
  readonly argv: readonly [string, ...string[]];
  readonly env: NodeJS.ProcessEnv;
  /** The folder in which it starts. */
  readonly cwd: string;
}

/** The time after SIGTERM to end its agent and tmux. */
const STOP_MS = 8000;

/** A gt-sidecar as our child. */
export class SidecarChild {
  readonly #clock: Clock;
  readonly #options: SidecarProcessOptions;
  readonly #onNews: (news: SidecarNews) => void;

  constructor(clock: Clock, options: SidecarProcessOptions, onNews: (news: SidecarNews) => void) {
    this.#clock = clock;
    this.#options = options;
    this.#onNews = onNews;
  }

  /**
   * Runs it until `signal` aborts, then ends it, by force after 8 s.
   * @throws DomainError `unavailable` when it ends by itself with a failure.
   */
  async run(signal: AbortSignal): Promise<void> {
    const [program, ...args] = this.#options.argv;
    const { env, cwd } = this.#options;
    // In its own process group: Ctrl-C in the terminal reaches only us, and we end the sidecar in order.
    const child = spawn(program, args, { cwd, env, detached: true, stdio: ["ignore", "ignore", "pipe"] });
    let failure = "";
    createInterface({ input: child.stderr }).on("line", (line) => {
      const news = readLogLine(line);
      if (news?.type === "failure") failure = news.text;
      if (news !== undefined) this.#onNews(news);
    });
    const closed = once(child, "close");
    const stop = new AbortController();
    const stopped = this.#stopOn(signal, child, stop.signal);
    try {
      await closed;
    } finally {
      stop.abort();
      await stopped;
    }
    if (signal.aborted || child.exitCode === 0) return;
    const how = child.exitCode === null ? `was ended by ${child.signalCode}` : `ended with ${child.exitCode}`;
    throw new DomainError("unavailable", `the sidecar ${how}${failure === "" ? "" : `: ${failure}`}`);
  }

  async #stopOn(signal: AbortSignal, child: ChildProcess, closed: AbortSignal): Promise<void> {
    if (!signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => resolve(), { once: true, signal: closed });
      closed.addEventListener("abort", () => resolve(), { once: true });
      await promise;
    }
    if (closed.aborted) return;
    child.kill("SIGTERM");
    await this.#clock.sleep(STOP_MS, closed).then(
      () => child.kill("SIGKILL"),
      () => {},
    );
  }
}
