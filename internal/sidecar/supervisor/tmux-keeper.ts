import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import { SESSION } from "../halves/options.ts";
import type { TmuxCall } from "./tmux-call.ts";

export interface TmuxKeeperDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Makes a server that has yet to run. */
  readonly newServer: () => KeptServer;
  /** Calls the present server. */
  readonly call: TmuxCall;
  readonly kill: (pid: number, signal: NodeJS.Signals) => void;
  /** Ends the agent's processes that a lost server left: two agents must not run at the same time. */
  readonly endAgent: () => Promise<void>;
}

/** A task that runs until the server has ended, or ends it when the signal aborts. @internal */
export interface KeptServer extends Task {
  readonly pid: number | undefined;
}

/** tmux servers lost in a row before giving up, each living less than a minute. */
const MAX_LOSSES = 5;
const STABLE_MS = 60_000;
/** How often to resume the server, which a program may have stopped (SIGSTOP). */
const LOOK_EVERY_MS = 5000;
/** A server needs about this long to listen. */
const SESSION_LOOK_MS = 20;
/** How long a server that is being replaced has to end after each step. */
const RENEW_STEP_MS = 1000;

/** Keeps a tmux server running: a lost one is recreated, and the agent with it. */
export class TmuxKeeper implements Task {
  readonly #deps: TmuxKeeperDeps;
  #server: KeptServer | undefined;
  /** The end of the current server was requested: it does not count as a loss. */
  #isAsked = false;

  /** `adopted`: a server that runs already. */
  constructor(deps: TmuxKeeperDeps, adopted: KeptServer | undefined) {
    this.#deps = deps;
    this.#server = adopted;
  }

  /** The present server's pid. */
  get pid(): number | undefined {
    return this.#server?.pid;
  }

  /** @throws DomainError `unavailable` when servers keep ending; otherwise like `TmuxServer.run` */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    let losses = 0;
    while (!signal.aborted) {
      const startedAt = clock.monotonicMs();
      this.#server ??= this.#deps.newServer();
      const done = new AbortController();
      const looking = this.#look(AbortSignal.any([signal, done.signal]));
      await this.#server.run(signal).finally(() => done.abort());
      this.#server = undefined;
      await looking;
      if (signal.aborted) return;
      await this.#deps.endAgent();
      if (this.#isAsked) {
        this.#isAsked = false;
        continue;
      }
      losses = clock.monotonicMs() - startedAt < STABLE_MS ? losses + 1 : 1;
      if (losses >= MAX_LOSSES) throw new DomainError("unavailable", "the tmux server keeps ending");
      logger.error({ losses }, "tmux server was lost, restarting it");
      await clock.sleep(100 * losses, signal).catch(() => {});
    }
  }

  /** Ends the present server, which does not count as a loss; the next one follows at once. */
  async renew(): Promise<void> {
    const { clock, call } = this.#deps;
    const { pid } = this;
    if (pid === undefined) return; // one is being made
    this.#isAsked = true;
    const steps = [() => call("kill-server"), () => this.signal("SIGTERM"), () => this.signal("SIGKILL")];
    for (const step of steps) {
      await step();
      const end = clock.monotonicMs() + RENEW_STEP_MS;
      while (this.pid === pid && clock.monotonicMs() < end) await clock.sleep(10);
      if (this.pid !== pid) return;
    }
  }

  /**
   * tmux creates the session when its first client connects: this is the first, whatever the serving half does.
   * Afterwards a server that was stopped (SIGSTOP) is resumed every five seconds.
   */
  async #look(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    do await clock.sleep(SESSION_LOOK_MS, signal).catch(() => {});
    while (!signal.aborted && !(await this.hasSession()));
    while (!signal.aborted) {
      await clock.sleep(LOOK_EVERY_MS, signal).catch(() => {});
      if (!signal.aborted) this.signal("SIGCONT");
    }
  }

  /** True if the server answers and has the session. */
  async hasSession(): Promise<boolean> {
    return (await this.#deps.call("has-session", "-t", `=${SESSION}`)) !== undefined;
  }

  /** Sends a signal to the present server, if there is one. */
  signal(name: NodeJS.Signals): void {
    if (this.pid !== undefined) this.#deps.kill(this.pid, name);
  }
}
