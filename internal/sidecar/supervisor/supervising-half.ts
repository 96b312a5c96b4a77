import { randomUUID } from "node:crypto";
import { profileNamed } from "../../agents/programs/registry.ts";
import { aborted } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import { runTasks, type Task } from "../../base/task-group.ts";
import { readPlainFileSync } from "../../files/plain-file.ts";
import { setAside } from "../../files/set-aside.ts";
import { oomKills } from "../../process/oom-kills.ts";
import { ProcessInspector } from "../../process/process-inspector.ts";
import { probeVersion } from "../../tmux/client/version.ts";
import { serverConfig } from "../../tmux/pane/server-config.ts";
import { Greeting } from "../halves/greeting.ts";
import { HalvesLinkListener, type HalvesLinkListenerDeps } from "../halves/halves-link-listener.ts";
import { agentCommand, launchContext, SESSION, type SidecarOptions } from "../halves/options.ts";
import { makeStateDir, statePaths } from "../halves/state-dir.ts";
import { lockState } from "../halves/state-lock.ts";
import { AgentProcesses } from "./agent-processes.ts";
import { probeAgentVersion } from "./agent-version.ts";
import { ClientListener } from "./client-listener.ts";
import { takeOver } from "./predecessor.ts";
import { ServingKeeper } from "./serving-keeper.ts";
import { SessionRescue } from "./session-rescue.ts";
import { StateKeeper } from "./state-keeper.ts";
import { codeOfEnd, stopAgent } from "./terminate-agent.ts";
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
  readonly serve?: Serve;
  /** From the request to stop to the end of everything. */
  readonly graceMs: number;
}

/** What is left of the grace period for KILL and tmux itself. */
const KILL_MS = 1500;
/** A killed predecessor's folder is free at once; one that is ending needs a moment. */
const LOCK_WAIT_MS = 3000;
const MAX_CONFIG_BYTES = 1024 * 1024;

/**
 * The supervising half: small, parses nothing from the agent, serves nothing. It owns tmux's process, the serving half
 * and the state folder, and knows how to end all of them. `run` resolves when everything has ended; `exitCode` then
 * tells how the agent did.
 */
export class SupervisingHalf implements Task {
  readonly #deps: SuperviseDeps;
  readonly #options: SuperviseOptions;
  readonly #finish = new AbortController();
  /** The agent's end is not waited for any longer. */
  readonly #hurry = new AbortController();
  readonly #processes: AgentProcesses;
  #serving: ServingKeeper | undefined;
  #exitCode: number | undefined;
  /** StopAgent and the end of this half both see to it that the agent has ended. */
  #isEndLogged = false;
  #endLevel: "info" | "debug" = "info";
  #wakeTmux = (): void => {};
  #askVersion = (): void => {};
  #stopping: Promise<void> | undefined;

  constructor(deps: SuperviseDeps, options: SuperviseOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#processes = new AgentProcesses(deps);
  }

  /** At which level its end is logged: a start that was refused has said why already. */
  get endLevel(): "info" | "debug" {
    return this.#endLevel;
  }

  /** The agent's; 128+n when a signal ended it. */
  get exitCode(): number {
    return this.#exitCode ?? 0;
  }

  /** @throws DomainError as `makeStateDir`, `lockState`, `takeOver` and `TmuxKeeper.run` */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#deps;
    const { sidecar, serve } = this.#options;
    if (serve !== undefined) {
      this.#serving = new ServingKeeper(
        {
          clock,
          logger,
          refused: (exitCode) => {
            this.#endLevel = "debug";
            this.#endWith(exitCode, "the serving half cannot start");
          },
          setJournalAside: () => setAside(statePaths(sidecar.stateDir).journal),
        },
        { ...serve, env: sidecar.env },
      );
      this.#serving.prepare(); // it loads its code meanwhile
    }
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
    const ending = AbortSignal.any([signal, this.#finish.signal]);
    // Once calls are answered: no start waits for it.
    this.#askVersion = () => void greeting.learnAgent(() => probeAgentVersion(sidecar, ending));

    const processes = this.#processes;
    const keeper = new TmuxKeeper({ clock, logger, endAgent: () => processes.end() }, sidecar, adopted);
    const rescue = new SessionRescue({ clock, logger, processes, renewServer: () => keeper.renew() }, sidecar);
    const state = new StateKeeper(
      {
        clock,
        logger,
        uid,
        listener: () => this.#listeners(greeting, keeper, rescue),
        restored: () => {
          keeper.signal("SIGUSR1"); // tmux makes its socket again
          this.#serving?.renew();
        },
      },
      { paths, files, env: sidecar.env },
    );
    await state.make();
    this.#wakeTmux = () => keeper.signal("SIGCONT");
    const serverStop = new AbortController();
    await runTasks(ending, [
      state,
      { run: () => keeper.run(serverStop.signal) },
      { run: (ended) => this.#endAgent(ended).finally(() => serverStop.abort()) },
      ...(this.#serving === undefined ? [] : [this.#serving]),
    ]);
  }

  async #endAgent(ended: AbortSignal): Promise<void> {
    await aborted(ended);
    const { clock } = this.#deps;
    const { graceMs } = this.#options;
    const done = new AbortController();
    const limit = clock.sleep(Math.max(0, graceMs - KILL_MS), done.signal).then(
      () => this.#hurry.abort(),
      () => {},
    );
    await this.#stopping; // asked for by a caller, maybe with more time than there is now
    await this.#stopOnce(graceMs);
    done.abort();
    await limit;
  }

  /** Where the serving half connects to. */
  #listeners(greeting: Greeting, keeper: TmuxKeeper, rescue: SessionRescue): Task {
    const { clock, logger } = this.#deps;
    const { sidecar } = this.#options;
    const paths = statePaths(sidecar.stateDir);
    const inspector = new ProcessInspector(clock);
    const deps: HalvesLinkListenerDeps = {
      logger,
      greeting,
      onMessage: (message) => {
        if (message.type === "agent") this.#processes.note(message.pid, keeper.pid);
        else if (message.type === "renew") void rescue.renew();
        else this.#hear(message);
      },
      inspect: (pid, work) => inspector.facts(pid, work),
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

  #hear(
    message: Exclude<Parameters<HalvesLinkListenerDeps["onMessage"]>[0], { readonly type: "agent" | "renew" }>,
  ): void {
    this.#serving?.heard();
    switch (message.type) {
      case "alive":
        return;
      case "serving":
        this.#serving?.up();
        this.#askVersion();
        return;
      case "stop":
        if (message.force) this.#hurry.abort();
        this.#stopping ??= this.#stopOnce(message.graceMs === 0 ? this.#options.graceMs : message.graceMs).finally(
          () => {
            this.#stopping = undefined; // should there be another agent, it can be ended, too
          },
        );
        return;
      case "finish":
        this.#endWith(message.exitCode, "the agent has ended");
    }
  }

  #endWith(exitCode: number, reason: string): void {
    this.#exitCode = exitCode;
    this.#finish.abort(new Error(reason));
  }

  async #stopOnce(graceMs: number): Promise<void> {
    const { clock, logger } = this.#deps;
    this.#wakeTmux(); // a tmux that was stopped could neither be asked nor tell how the agent ended
    const end = await stopAgent(this.#options.sidecar, clock, { graceMs, hurry: this.#hurry.signal });
    if (end === undefined) await this.#processes.end(); // its session is gone, it may be not
    this.#exitCode ??= codeOfEnd(end);
    if (this.#isEndLogged) return;
    this.#isEndLogged = true;
    logger[this.#endLevel]({ ...end }, "agent stopped");
  }
}

/** What stands in the state folder, by absolute path. */
function filesOf(sidecar: SidecarOptions, agentId: string): Readonly<Record<string, string>> {
  const plan = profileNamed(sidecar.agent).launch(launchContext(sidecar));
  const { cols, rows, historyLimit, stateDir } = sidecar;
  const config = serverConfig({ session: SESSION, cols, rows, historyLimit, agent: agentCommand(sidecar, plan) });
  return { ...plan.files, [statePaths(stateDir).tmuxConfig]: `${AGENT_ID_MARK}${agentId}\n${config}` };
}

/** A comment in the configuration of tmux: a supervising half that takes the agent over knows it by this. */
const AGENT_ID_MARK = "# agent ";

function agentIdIn(config: string): string | undefined {
  return /^# agent ([0-9a-f-]{36})\n/.exec(config)?.[1];
}
