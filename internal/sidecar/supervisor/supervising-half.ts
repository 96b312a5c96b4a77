import { randomUUID } from "node:crypto";
import { profileNamed } from "../../agents/programs/registry.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import { runTasks, type Task } from "../../base/task-group.ts";
import { readPlainFileSync } from "../../files/plain-file.ts";
import { oomKills } from "../../process/oom-kills.ts";
import { ProcessInspector } from "../../process/process-inspector.ts";
import { sendSignal } from "../../process/send-signal.ts";
import { TmuxServer } from "../../tmux/client/server.ts";
import { probeVersion } from "../../tmux/client/version.ts";
import { serverConfig } from "../../tmux/pane/server-config.ts";
import { Greeting } from "../halves/greeting.ts";
import { HalvesLinkListener, type HalvesLinkListenerDeps } from "../halves/halves-link-listener.ts";
import { launchContext, paneCommand, SESSION, type SidecarOptions } from "../halves/options.ts";
import { makeStateDir, refuseForeignFiles, restorePermissions, statePaths } from "../halves/state-dir.ts";
import { lockState } from "../halves/state-lock.ts";
import { AgentEnding } from "./agent-ending.ts";
import { AgentProcesses } from "./agent-processes.ts";
import { probeAgentVersion } from "./agent-version.ts";
import { ClientListener } from "./client-listener.ts";
import { HalfEnd } from "./half-end.ts";
import { takeOver } from "./predecessor.ts";
import { ServingKeeper } from "./serving-keeper.ts";
import { SessionRescue } from "./session-rescue.ts";
import { setAside } from "./set-aside.ts";
import { StateKeeper } from "./state-keeper.ts";
import { stopAgent } from "./terminate-agent.ts";
import { tmuxCalls } from "./tmux-call.ts";
import { TmuxKeeper } from "./tmux-keeper.ts";

export interface SuperviseDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly uid: number;
}

interface Serve {
  readonly program: string;
  readonly args: readonly string[];
}

export interface SuperviseOptions {
  readonly sidecar: SidecarOptions;
  /** Program and arguments of the serving half; absent when it runs elsewhere (a container of its own). */
  readonly serve?: Serve | undefined;
  /** The time from the request to stop until everything has ended. */
  readonly graceMs: number;
}

/** The parts that are made once the state folder is ours. */
interface Parts {
  readonly greeting: Greeting;
  readonly processes: AgentProcesses;
  readonly keeper: TmuxKeeper;
  readonly rescue: SessionRescue;
  readonly ending: AgentEnding;
  /** Starts to ask for the agent's version. Called once calls are answered: no start waits for it. */
  readonly learnVersion: () => void;
}

type Order = Parameters<HalvesLinkListenerDeps["onMessage"]>[0];

/** A killed predecessor's folder is free at once; one that is ending needs a moment. */
const LOCK_WAIT_MS = 3000;
const MAX_CONFIG_BYTES = 1024 * 1024;

/**
 * The supervising half: small, parses nothing from the agent, serves nothing. It owns tmux's process, the serving half
 * and the state folder, and knows how to end all of them. `run` resolves when everything has ended; `exitCode` is then
 * the agent's.
 */
export class SupervisingHalf implements Task {
  readonly #deps: SuperviseDeps;
  readonly #options: SuperviseOptions;
  readonly #end = new HalfEnd();
  readonly #serving: ServingKeeper | undefined;

  constructor(deps: SuperviseDeps, options: SuperviseOptions) {
    this.#deps = deps;
    this.#options = options;
    const { clock, logger } = deps;
    const { serve, sidecar } = options;
    if (serve === undefined) return;
    this.#serving = new ServingKeeper(
      {
        clock,
        logger,
        refused: (exitCode) => this.#end.refuse(exitCode),
        setJournalAside: () => setAside(statePaths(sidecar.stateDir).journal),
      },
      { ...serve, env: sidecar.env },
    );
  }

  /** The level at which its end is logged; a refused start has already reported the reason. */
  get endLevel(): "info" | "debug" {
    return this.#end.level;
  }

  /** The agent's exit code; 128+n when a signal ended it. */
  get exitCode(): number {
    return this.#end.exitCode;
  }

  /** @throws DomainError as `refuseForeignFiles`, `makeStateDir`, `lockState`, `takeOver` and `TmuxKeeper.run` */
  async run(signal: AbortSignal): Promise<void> {
    this.#serving?.prepare(); // it loads its code meanwhile
    try {
      await this.#supervise(signal);
    } finally {
      this.#serving?.dismiss();
    }
  }

  async #supervise(signal: AbortSignal): Promise<void> {
    const { clock, logger, uid } = this.#deps;
    const { sidecar, graceMs } = this.#options;
    const paths = statePaths(sidecar.stateDir);
    restorePermissions(paths);
    refuseForeignFiles(paths);
    makeStateDir(paths, uid);
    const version = probeVersion(sidecar.tmuxProgram, sidecar.env);
    version.catch(() => {}); // thrown below, once the folder is ours
    await using _lock = await lockState(clock, paths, { half: "supervise", waitMs: LOCK_WAIT_MS });
    const config = readPlainFileSync(paths.tmuxConfig, MAX_CONFIG_BYTES);
    const earlierId = config === undefined ? undefined : agentIdIn(config);
    const sameConfig = earlierId !== undefined && config === filesOf(sidecar, earlierId)[paths.tmuxConfig];
    const adopted = await takeOver({ clock, logger }, { sidecar, sameConfig, graceMs });
    // A new agent may get the pid of an earlier one: pids begin again in a container that is started again.
    const agentId = (adopted && earlierId) ?? randomUUID();
    const files = filesOf(sidecar, agentId);
    const greeting = new Greeting({ type: "hello", tmux: (await version).text, agentId });
    const stopped = AbortSignal.any([signal, this.#end.signal]);
    const processes = new AgentProcesses({ clock });
    const { tmuxProgram, env } = sidecar;
    const server = { tmuxProgram, socketPath: paths.tmuxSocket, configPath: paths.tmuxConfig, env };
    const call = tmuxCalls(clock, sidecar);
    const keeper = new TmuxKeeper(
      {
        clock,
        logger,
        newServer: () => new TmuxServer({ clock, logger }, server),
        call,
        kill: sendSignal,
        endAgent: () => processes.end(),
      },
      adopted,
    );
    const rescue = new SessionRescue({ clock, logger, processes, renewServer: () => keeper.renew() }, sidecar);
    const ending = new AgentEnding(
      {
        ...{ clock, logger, end: this.#end },
        stop: (order) => stopAgent({ clock, call, signal: sendSignal }, sidecar.agent, order),
        endProcesses: () => processes.end(),
        wakeTmux: () => keeper.signal("SIGCONT"),
      },
      { graceMs },
    );
    const learnVersion = () => void greeting.learnAgent(() => probeAgentVersion(sidecar, stopped));
    const parts = { greeting, processes, keeper, rescue, ending, learnVersion };
    const state = new StateKeeper(
      {
        clock,
        logger,
        uid,
        listener: () => this.#listeners(parts),
        restored: () => {
          keeper.signal("SIGUSR1"); // makes tmux create its socket again
          this.#serving?.renew();
        },
      },
      { paths, files, env: sidecar.env },
    );
    await state.make();
    const serverStop = new AbortController();
    await runTasks(stopped, [
      state,
      { run: () => keeper.run(serverStop.signal) },
      { run: (ended) => ending.run(ended).finally(() => serverStop.abort()) },
      ...(this.#serving === undefined ? [] : [this.#serving]),
    ]);
  }

  /** The listeners to which the serving half connects. */
  #listeners(parts: Parts): Task {
    const { clock, logger } = this.#deps;
    const { sidecar } = this.#options;
    const paths = statePaths(sidecar.stateDir);
    const inspector = new ProcessInspector(clock);
    const { greeting, keeper, rescue } = parts;
    const deps: HalvesLinkListenerDeps = {
      logger,
      greeting,
      onMessage: (message) => this.#hear(message, parts),
      inspect: (pid, wanted) => inspector.facts(pid, wanted),
      settle: (pid) => rescue.settle(pid),
      oomKills,
    };
    const client = { ...sidecar, socketPath: paths.tmuxSocket, session: SESSION };
    const tasks = [
      new HalvesLinkListener(deps, paths.control),
      new ClientListener({ clock, logger, hasSession: () => keeper.hasSession() }, paths.clients, client),
    ];
    return { run: (signal) => runTasks(signal, tasks) };
  }

  #hear(message: Order, { processes, keeper, rescue, ending, learnVersion }: Parts): void {
    switch (message.type) {
      case "agent":
        processes.note(message.pid, keeper.pid);
        return;
      case "renew":
        void rescue.renew();
        return;
      case "alive":
        this.#serving?.heard();
        return;
      case "serving":
        this.#serving?.heard();
        this.#serving?.up();
        learnVersion();
        return;
      case "stop":
        this.#serving?.heard();
        ending.request(message);
        return;
      case "finish":
        this.#serving?.heard();
        this.#end.finish(message.exitCode);
    }
  }
}

/** The files in the state folder, by absolute path. */
function filesOf(sidecar: SidecarOptions, agentId: string): Readonly<Record<string, string>> {
  const plan = profileNamed(sidecar.agent).launch(launchContext(sidecar));
  const { cols, rows, historyLimit, stateDir } = sidecar;
  const config = serverConfig({ session: SESSION, cols, rows, historyLimit, agent: paneCommand(sidecar, plan) });
  return { ...plan.files, [statePaths(stateDir).tmuxConfig]: `${AGENT_ID_MARK}${agentId}\n${config}` };
}

/**
 * Begins a comment in tmux's configuration with the agent's id, by which a supervising half that takes the agent over
 * identifies it.
 */
const AGENT_ID_MARK = "# agent ";

function agentIdIn(config: string): string | undefined {
  return /^# agent ([0-9a-f-]{36})\n/.exec(config)?.[1];
}
