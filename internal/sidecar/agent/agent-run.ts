import { basename } from "node:path";
import type { AgentProfile } from "../../agents/profile.ts";
import { profileNamed } from "../../agents/programs/registry.ts";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import { MachineTime } from "../../base/machine-time.ts";
import { presentBoot } from "../../base/present-boot.ts";
import { runTasks, type Task } from "../../base/task-group.ts";
import type { Journal } from "../../eventlog/journal.ts";
import type { NudgeObserver } from "../../pane/delivery/mailbox.ts";
import { CommandClient } from "../../tmux/control/command-client.ts";
import type { HalvesLinkClient } from "../halves/halves-link-client.ts";
import { launchContext, paneCommand, SESSION, type SidecarOptions } from "../halves/options.ts";
import type { StateFolder } from "../halves/state-folder.ts";
import type { Restored, SidecarRecord } from "../journal/journal-records.ts";
import { AgentLifecycle } from "../lifecycle/agent-lifecycle.ts";
import type { LifecycleListener } from "../lifecycle/lifecycle-listener.ts";
import { LifecycleMonitor } from "../lifecycle/lifecycle-monitor.ts";
import { PaneAccess } from "../lifecycle/pane-access.ts";
import { AgentFileReader } from "./agent-file.ts";
import type { Boundary } from "./boundary.ts";
import { clientStreams } from "./client-stream.ts";
import { HookReader } from "./hook-reader.ts";
import { LiveAgent } from "./live-agent.ts";
import { OutputReader } from "./output-reader.ts";
import { takeCapture } from "./take-capture.ts";
import { WorkWatch } from "./work-watch.ts";

export interface AgentRunDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly state: StateFolder;
  readonly control: HalvesLinkClient;
  readonly boundary: Boundary;
  readonly journal: Journal<SidecarRecord>;
  readonly restored: Restored;
  readonly nudges: NudgeObserver;
}

export interface AgentRunOptions {
  readonly sidecar: SidecarOptions;
  /** The other half runs in a container of its own, because the agent is not trusted. */
  readonly isApart: boolean;
  /** Versions of the programs of this half, by name. */
  readonly versions: Readonly<Record<string, string>>;
}

/** Observes the agent's life for the code that serves the agent. */
export interface RunObserver {
  /** It is known now whether the agent is running. */
  looked(): void;
  /** Whether its output is piped and it has not ended. */
  ready(is: boolean): void;
  /** It has ended and no restart is due. */
  finished(exitCode: number): void;
}

interface RunParts {
  readonly profile: AgentProfile;
  readonly lifecycle: AgentLifecycle;
  readonly agent: LiveAgent;
  readonly client: CommandClient;
}

/** The one agent with everything that reads it and types into it: its tmux session, output, hooks and files. */
export class AgentRun {
  readonly profile: AgentProfile;
  readonly agent: LiveAgent;
  readonly #deps: AgentRunDeps;
  readonly #options: AgentRunOptions;
  readonly #client: CommandClient;
  readonly #lifecycle: AgentLifecycle;

  /** The agent in the journal's state, before anything is known about its present one. */
  static open(deps: AgentRunDeps, options: AgentRunOptions): AgentRun {
    const { clock, logger, control, journal, restored, state, boundary } = deps;
    const { sidecar } = options;
    const profile = profileNamed(sidecar.agent);
    const lifecycle = new AgentLifecycle(clock.now(), restored.agent);
    const open = clientStreams(() => state.connect("clients"));
    const client = new CommandClient({ clock, logger }, { open, onForeign: () => boundary.note("stream") });
    const pane = new PaneAccess({ clock, lifecycle, isAttached: () => client.isAttached });
    const time = new MachineTime(clock, presentBoot());
    const agent = LiveAgent.open(
      {
        ...{ clock, time, logger, profile, journal, lifecycle, pane },
        nudges: logged(deps),
        onStop: (request) => control.stop(request),
        versions: () => ({ ...options.versions, ...versionsIn(control.hello) }),
      },
      sidecar,
      restored,
    );
    return new AgentRun(deps, options, { profile, lifecycle, agent, client });
  }

  private constructor(deps: AgentRunDeps, options: AgentRunOptions, { profile, lifecycle, agent, client }: RunParts) {
    this.#deps = deps;
    this.#options = options;
    this.profile = profile;
    this.agent = agent;
    this.#lifecycle = lifecycle;
    this.#client = client;
  }

  /** Runs all of it. */
  task(observer: RunObserver): Task {
    const { clock } = this.#deps;
    const { agent } = this;
    const { captures } = this.#deps.state;
    const output = new OutputReader({ clock, agent }, { folder: captures, env: this.#options.sidecar.env });
    const tasks = [
      this.#client,
      this.#sessionMonitor(this.#listener(output, observer)),
      output,
      ...this.#readers(),
      ...[agent.monitor, agent.mailbox, agent.people, agent.events, agent.lines, agent.recorder],
    ];
    return { run: (signal) => runTasks(signal, tasks) };
  }

  #listener(output: OutputReader, observer: RunObserver): LifecycleListener {
    const { agent } = this;
    let isPiped = false;
    return {
      alive: (life) => {
        agent.alive(life);
        observer.looked();
        observer.ready(isPiped);
      },
      sized: (size) => agent.sized(size),
      arm: async (pane) => {
        isPiped = await output.arm(pane);
        observer.ready(isPiped);
        return isPiped;
      },
      renewed: (endedPid) => output.renew(endedPid),
      lastOutputAt: () => agent.output.lastOutputAt,
      diverted: () => this.#deps.boundary.note("pipe"),
      dead: (end) => {
        agent.dead(end);
        observer.looked();
        observer.ready(false);
      },
      finished: (exitCode) => observer.finished(exitCode),
    };
  }

  #sessionMonitor(listener: LifecycleListener): LifecycleMonitor {
    const { clock, logger, state, control, boundary } = this.#deps;
    const { sidecar } = this.#options;
    const agentId = () => control.hello?.agentId;
    return new LifecycleMonitor(
      { clock, logger, client: this.#client, help: control, listener, lifecycle: this.#lifecycle, agentId },
      {
        session: SESSION,
        captures: { dir: state.captures.path, take: takeCapture(state.captures, boundary) },
        agent: paneCommand(sidecar, this.profile.launch(launchContext(sidecar))),
        restart: sidecar.restart,
        stopAsked: this.agent.stopper.asked,
      },
    );
  }

  /** The readers of the agent's own reports. */
  #readers(): readonly Task[] {
    const { clock, logger, state, control } = this.#deps;
    const { profile, agent } = this;
    const { home, stallAfterMs } = this.#options.sidecar;
    const pid = () => (this.#lifecycle.alive ? this.#lifecycle.pid : undefined);
    const facts = (agentPid: number) => control.process(agentPid);
    const files = async (agentPid: number) => (await control.process(agentPid, { files: true }))?.files ?? [];
    const work = async () => {
      const agentPid = pid();
      return agentPid === undefined ? undefined : (await control.process(agentPid, { work: true }))?.work;
    };
    const hookFiles = { folder: state.folder, fifo: basename(state.paths.hookFifo), payloads: state.hooks };
    return [
      new HookReader({ clock, logger, profile, onEvent: agent.heard.bind(agent) }, hookFiles),
      new AgentFileReader(
        {
          ...{ clock, profile, pid, process: facts, files, lastOutputAt: () => agent.output.lastOutputAt },
          onState: agent.read.bind(agent),
          onSession: agent.inSession.bind(agent),
        },
        { home, strict: this.#options.isApart },
      ),
      new WorkWatch({ clock, monitor: agent.monitor, sample: work }, { stallAfterMs }),
    ];
  }
}

/** The observer of these, which also logs each end. */
function logged({ logger, nudges }: Pick<AgentRunDeps, "logger" | "nudges">): NudgeObserver {
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
