import { profileNamed } from "../../agents/programs/registry.ts";
import { MachineTime } from "../../base/machine-time.ts";
import { presentBoot } from "../../base/present-boot.ts";
import { runTasks, type Task } from "../../base/task-group.ts";
import type { Journal } from "../../eventlog/journal.ts";
import type { NudgeObserver } from "../../pane/delivery/mailbox.ts";
import { CommandClient } from "../../tmux/control/command-client.ts";
import type { HalvesLinkClient } from "../halves/halves-link-client.ts";
import { launchContext, paneCommand, SESSION } from "../halves/options.ts";
import type { Restored, SidecarRecord } from "../journal/journal-records.ts";
import type { LifecycleListener } from "../lifecycle/lifecycle-listener.ts";
import { LifecycleMonitor } from "../lifecycle/lifecycle-monitor.ts";
import { type AgentReadersDeps, type AgentReadersOptions, agentReaders } from "./agent-readers.ts";
import { AgentReports } from "./agent-reports.ts";
import type { Boundary } from "./boundary.ts";
import { clientStreams } from "./client-stream.ts";
import { OutputReader } from "./output-reader.ts";
import { openSidecarAgent, type SidecarAgent } from "./sidecar-agent.ts";
import { takeCapture } from "./take-capture.ts";

export interface AgentTasksDeps extends AgentReadersDeps {
  readonly boundary: Boundary;
  readonly journal: Journal<SidecarRecord>;
  readonly restored: Restored;
  readonly nudges: NudgeObserver;
}

export interface AgentTasksOptions extends AgentReadersOptions {
  /** Versions of the programs of this half, by name. */
  readonly versions: Readonly<Record<string, string>>;
}

/** Observes the agent's lifecycle for the code that serves the agent. */
export interface LifecycleObserver {
  /** Called when it is known whether the agent is running. */
  looked(): void;
  /** Called with true when its output is piped and it has not ended. */
  ready(is: boolean): void;
  /** Called when it has ended and no restart is due. */
  finished(exitCode: number): void;
}

/**
 * All tasks of the agent: its parts, and what connects them with the agent, which are the client of tmux, the lifecycle
 * monitor, and the readers of its output and of other evidence. Serves no calls.
 */
export class AgentTasks {
  readonly agent: SidecarAgent;
  readonly #deps: AgentTasksDeps;
  readonly #options: AgentTasksOptions;
  readonly #client: CommandClient;

  /** Opens the agent in the state that the journal has, before anything is known about its present state. */
  static open(deps: AgentTasksDeps, options: AgentTasksOptions): AgentTasks {
    const { clock, logger, control, journal, restored, state, boundary } = deps;
    const { sidecar } = options;
    const open = clientStreams(() => state.connect("clients"));
    const client = new CommandClient({ clock, logger }, { open, onForeign: () => boundary.note("stream") });
    const agent = openSidecarAgent(
      {
        ...{ clock, logger, journal, profile: profileNamed(sidecar.agent) },
        time: new MachineTime(clock, presentBoot()),
        isAttached: () => client.isAttached,
        nudges: logged(deps),
        onStop: (request) => control.stop(request),
        versions: () => ({ ...options.versions, ...versionsIn(control.hello) }),
      },
      sidecar,
      restored,
    );
    return new AgentTasks(deps, options, agent, client);
  }

  private constructor(deps: AgentTasksDeps, options: AgentTasksOptions, agent: SidecarAgent, client: CommandClient) {
    this.#deps = deps;
    this.#options = options;
    this.agent = agent;
    this.#client = client;
  }

  /** The task that runs all of them. */
  task(observer: LifecycleObserver): Task {
    const { terminal, messages, events, lines, recorder } = this.agent;
    const { clock, state } = this.#deps;
    const { sidecar } = this.#options;
    const output = new OutputReader({ clock, terminal }, { folder: state.captures, env: sidecar.env });
    const reports = new AgentReports(this.agent);
    const monitor = this.#lifecycleMonitor(this.#listener(reports, output, observer));
    const readers = agentReaders(this.agent, reports, this.#deps, this.#options);
    const tasks = [
      ...[this.#client, monitor, output, ...readers],
      ...[terminal.monitor, messages.mailbox, terminal.people, events, lines, recorder],
    ];
    return { run: (signal) => runTasks(signal, tasks) };
  }

  #listener(reports: AgentReports, output: OutputReader, observer: LifecycleObserver): LifecycleListener {
    const { terminal } = this.agent;
    let isPiped = false;
    return {
      alive: (life) => {
        reports.alive(life);
        observer.looked();
        observer.ready(isPiped);
      },
      sized: (size) => terminal.sized(size),
      arm: async (pane) => {
        isPiped = await output.arm(pane);
        observer.ready(isPiped);
        return isPiped;
      },
      renewed: (endedPid) => output.renew(endedPid),
      lastOutputAt: () => terminal.output.lastOutputAt,
      diverted: () => this.#deps.boundary.note("pipe"),
      dead: (end) => {
        reports.dead(end);
        observer.looked();
        observer.ready(false);
      },
      finished: (exitCode) => observer.finished(exitCode),
    };
  }

  #lifecycleMonitor(listener: LifecycleListener): LifecycleMonitor {
    const { clock, logger, state, control, boundary } = this.#deps;
    const { sidecar } = this.#options;
    const { profile, lifecycle, stopper } = this.agent;
    const agentId = () => control.hello?.agentId;
    return new LifecycleMonitor(
      { clock, logger, client: this.#client, help: control, listener, lifecycle, agentId },
      {
        session: SESSION,
        captures: { dir: state.captures.path, take: takeCapture(state.captures, boundary) },
        agent: paneCommand(sidecar, profile.launch(launchContext(sidecar))),
        restart: sidecar.restart,
        stopAsked: stopper.asked,
      },
    );
  }
}

/** The same observer of nudges, which also logs each end. */
function logged({ logger, nudges }: Pick<AgentTasksDeps, "logger" | "nudges">): NudgeObserver {
  return {
    held: (check) => nudges.held(check),
    ended: (receipt, heldBy) => {
      nudges.ended(receipt, heldBy);
      const { requestId, outcome, sender } = receipt;
      logger.info({ request_id: requestId, outcome, sender, held_by: heldBy }, "nudge ended");
    },
  };
}

/** Versions of the programs of the other half, by name. */
function versionsIn(hello: HalvesLinkClient["hello"]): Readonly<Record<string, string>> {
  const { tmux, agent } = hello ?? {};
  return { ...(tmux !== undefined && { tmux }), ...(agent !== undefined && { agent }) };
}
