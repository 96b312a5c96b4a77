import { type ChildProcess, execFile } from "node:child_process";
import { profileNamed } from "../agents/registry.ts";
import { aborted } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import type { Logger } from "../base/logger.ts";
import { runTasks, type Task } from "../base/task-group.ts";
import { withoutTmux } from "../tmux/environment.ts";
import { FifoHolder, makeFifo } from "../tmux/output-fifo.ts";
import { TmuxServer } from "../tmux/server.ts";
import { serverConfig } from "../tmux/server-config.ts";
import { stopAgent } from "./agent-stop.ts";
import { ControlListener, type ControlMessage } from "./control.ts";
import { agentCommand, launchContext, SESSION, type SidecarOptions } from "./options.ts";
import { ServingProcesses } from "./serving-processes.ts";
import { prepareStateDir, statePaths, writeStateFiles } from "./state-dir.ts";

export interface SuperviseDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly uid: number;
}

export interface Serve {
  readonly program: string;
  readonly args: readonly string[];
}

interface ProcessEnd {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface SuperviseOptions {
  readonly sidecar: SidecarOptions;
  /** Program and arguments of the serving half; absent when it runs elsewhere (a container of its own). */
  readonly serve?: Serve;
  /** From the request to stop to the end of everything. */
  readonly graceMs: number;
}

/** A serving half that says nothing for this long is killed; it speaks once a second. */
const SILENT_MS = 15_000;
/** A serving half that had been up is replaced at once; one that ends before that is given pauses, up to this long. */
const MAX_RESTART_DELAY_MS = 500;
/** tmux servers lost in a row before giving up, each living less than a minute. */
const MAX_SERVER_LOSSES = 5;
const STABLE_MS = 60_000;

/**
 * The supervising half: small, parses nothing from the agent, serves nothing. It owns tmux's process, the serving half and
 * the hook FIFO's open end, and knows how to end all of them. `run` resolves when everything has ended; `exitCode` then
 * tells how the agent did.
 */
export class SupervisingHalf implements Task {
  readonly #deps: SuperviseDeps;
  readonly #options: SuperviseOptions;
  readonly #finish = new AbortController();
  #exitCode: number | undefined;
  #heardAt = 0;

  constructor(deps: SuperviseDeps, options: SuperviseOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** The agent's; 128+n when a signal ended it. */
  get exitCode(): number {
    return this.#exitCode ?? 0;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, uid } = this.#deps;
    const { sidecar, graceMs } = this.#options;
    const paths = statePaths(sidecar.stateDir);
    prepareStateDir(paths, uid);
    const plan = profileNamed(sidecar.agent).launch(launchContext(sidecar));
    const agent = agentCommand(sidecar, plan);
    const { cols, rows, historyLimit } = sidecar;
    const config = serverConfig({ session: SESSION, cols, rows, historyLimit, agent });
    writeStateFiles(paths, { ...plan.files, [paths.tmuxConfig]: config });
    await makeFifo(paths.hookFifo, sidecar.env);

    const stop = AbortSignal.any([signal, this.#finish.signal]);
    const serverStop = new AbortController();
    const tasks: Task[] = [
      new FifoHolder(paths.hookFifo),
      new ControlListener({ logger, onMessage: (message) => this.#hear(message) }, paths.control),
      { run: () => this.#keepServer(serverStop.signal) },
      {
        run: async (ended) => {
          await aborted(ended);
          const exitCode = await stopAgent(sidecar, clock, graceMs);
          this.#exitCode ??= exitCode;
          serverStop.abort();
        },
      },
    ];
    const { serve } = this.#options;
    if (serve !== undefined) tasks.push({ run: (ended) => this.#keepServing(serve, ended) });
    await runTasks(stop, tasks);
  }

  #hear(message: ControlMessage): void {
    this.#heardAt = this.#deps.clock.monotonicMs();
    if (message.type !== "finish") return;
    this.#exitCode = message.exitCode;
    this.#finish.abort(new Error("the agent has ended"));
  }

  /** A lost server is made anew, and the agent with it. */
  async #keepServer(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const { sidecar } = this.#options;
    const paths = statePaths(sidecar.stateDir);
    let losses = 0;
    while (!signal.aborted) {
      const { tmuxProgram, env } = sidecar;
      const startedAt = clock.monotonicMs();
      const options = { tmuxProgram, socketPath: paths.tmuxSocket, configPath: paths.tmuxConfig, env };
      const server = new TmuxServer({ clock, logger }, options);
      const started = new AbortController();
      const woken = this.#wakeServer(AbortSignal.any([signal, started.signal]));
      await server.run(signal);
      started.abort();
      await woken;
      if (signal.aborted) return;
      losses = clock.monotonicMs() - startedAt < STABLE_MS ? losses + 1 : 1;
      if (losses >= MAX_SERVER_LOSSES) throw new DomainError("unavailable", "the tmux server keeps ending");
      logger.error({ losses, ...server.exit }, "tmux server was lost, making it anew");
      await clock.sleep(100 * losses, signal).catch(() => {});
    }
  }

  /** tmux makes the session when its first client comes: this is the first, whatever the serving half does. */
  async #wakeServer(signal: AbortSignal): Promise<void> {
    const { tmuxProgram, env, stateDir } = this.#options.sidecar;
    const args = ["-N", "-S", statePaths(stateDir).tmuxSocket, "has-session", "-t", `=${SESSION}`];
    while (!signal.aborted) {
      const isUp = await new Promise<boolean>((resolve) => {
        execFile(tmuxProgram, args, { env: withoutTmux(env), timeout: 2000 }, (err) => resolve(err === null));
      });
      if (isUp) return;
      await this.#deps.clock.sleep(20, signal).catch(() => {});
    }
  }

  async #keepServing(serve: Serve, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const { sidecar } = this.#options;
    const processes = new ServingProcesses({ ...serve, env: sidecar.env });
    let stillborn = 0;
    while (!signal.aborted) {
      const startedAt = clock.monotonicMs();
      const exit = await this.#serveOnce(processes, signal).catch((err: unknown) => {
        processes.dismiss();
        throw err;
      });
      if (signal.aborted) break;
      stillborn = this.#heardAt > startedAt ? 0 : stillborn + 1;
      const delayMs = Math.min(MAX_RESTART_DELAY_MS, stillborn * 100);
      logger.error({ ...exit, stillborn }, "serving half ended, starting it again");
      if (exit.code === USAGE_EXIT)
        throw new DomainError("invalid", "the serving half does not start with these flags");
      if (delayMs > 0) await clock.sleep(delayMs, signal).catch(() => {});
    }
    processes.dismiss();
  }

  async #serveOnce(processes: ServingProcesses, stop: AbortSignal): Promise<ProcessEnd> {
    const child = processes.next();
    const done = new AbortController();
    const { promise, resolve, reject } = Promise.withResolvers<ProcessEnd>();
    child.on("error", reject);
    child.on("exit", (code, by) => resolve({ code, signal: by }));
    const watching = this.#watchServing(child, stop, done.signal);
    const preparing = this.#prepareNext(processes, AbortSignal.any([stop, done.signal]));
    try {
      return await promise;
    } finally {
      done.abort();
      await Promise.all([watching, preparing]);
    }
  }

  /** Not while the present one starts: they would wait for each other's processor. */
  async #prepareNext(processes: ServingProcesses, stop: AbortSignal): Promise<void> {
    await this.#deps.clock.sleep(PREPARE_AFTER_MS, stop).catch(() => {});
    if (!stop.aborted) processes.prepare();
  }

  /** Asks it to stop when it is time, and kills it when it does not answer. */
  async #watchServing(child: ChildProcess, stop: AbortSignal, gone: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const startedAt = clock.monotonicMs();
    const either = AbortSignal.any([stop, gone]);
    while (!either.aborted) {
      await clock.sleep(1000, either).catch(() => {});
      if (clock.monotonicMs() - Math.max(startedAt, this.#heardAt) <= SILENT_MS) continue;
      logger.error({ pid: child.pid }, "serving half does not answer, killing it");
      child.kill("SIGKILL");
      return;
    }
    if (gone.aborted) return;
    child.kill("SIGTERM");
    await clock.sleep(SERVE_STOP_MS, gone).catch(() => {});
    if (!gone.aborted) child.kill("SIGKILL");
  }
}

/** Bad flags or files: the same start would fail the same way. */
const USAGE_EXIT = 2;
const PREPARE_AFTER_MS = 300;
/** What the serving half gets to end its streams. */
const SERVE_STOP_MS = 2000;
