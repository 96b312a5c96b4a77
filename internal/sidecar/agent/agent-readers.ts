import { basename } from "node:path";
import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/logger.ts";
import type { Task } from "../../base/task-group.ts";
import type { HalvesLinkClient } from "../halves/halves-link-client.ts";
import type { SidecarOptions } from "../halves/options.ts";
import type { StateFolder } from "../halves/state-folder.ts";
import { AgentFileReader } from "./agent-file.ts";
import type { AgentReports } from "./agent-reports.ts";
import { HookReader } from "./hook-reader.ts";
import type { SidecarAgent } from "./sidecar-agent.ts";
import { WorkWatch } from "./work-watch.ts";

export interface AgentReadersDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly state: StateFolder;
  readonly control: HalvesLinkClient;
}

export interface AgentReadersOptions {
  readonly sidecar: SidecarOptions;
  /** True if the other half runs in a container of its own, because the agent is not trusted. */
  readonly isApart: boolean;
}

/** The readers of the evidence beside the terminal: the agent's hooks, its files, and the work of its processes. */
export function agentReaders(
  { profile, lifecycle, terminal }: SidecarAgent,
  reports: AgentReports,
  { clock, logger, state, control }: AgentReadersDeps,
  { sidecar, isApart }: AgentReadersOptions,
): readonly Task[] {
  const { monitor, output } = terminal;
  const pid = () => (lifecycle.alive ? lifecycle.pid : undefined);
  const facts = (agentPid: number) => control.process(agentPid);
  const files = async (agentPid: number) => (await control.process(agentPid, { files: true }))?.files ?? [];
  const work = async () => {
    const agentPid = pid();
    return agentPid === undefined ? undefined : (await control.process(agentPid, { work: true }))?.work;
  };
  const hookFiles = { folder: state.folder, fifo: basename(state.paths.hookFifo), payloads: state.hooks };
  return [
    new HookReader({ clock, logger, profile, onEvent: reports.heard.bind(reports) }, hookFiles),
    new AgentFileReader(
      {
        ...{ clock, profile, pid, process: facts, files, lastOutputAt: () => output.lastOutputAt },
        onState: (read) => monitor.signs.read(read),
        onSession: reports.inSession.bind(reports),
      },
      { home: sidecar.home, strict: isApart },
    ),
    new WorkWatch({ clock, monitor, sample: work }, sidecar),
  ];
}
