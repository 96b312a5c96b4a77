import type { MachineTime } from "../../base/machine-time.ts";
import { Redactor } from "../../base/redact.ts";
import type { NudgeObserver } from "../../pane/delivery/mailbox.ts";
import { SessionEvents, type SessionEventsOptions } from "../../session/events.ts";
import type { StopRequest } from "../../session/stop.ts";
import { EventRecorder } from "../events/event-recorder.ts";
import { ReportedLines } from "../events/reported-lines.ts";
import { AgentJournal, type AgentJournalDeps } from "../journal/agent-journal.ts";
import type { Restored, SidecarRecord } from "../journal/journal-records.ts";
import { ReservedOffsets } from "../journal/reserved-offsets.ts";
import { AgentLifecycle } from "../lifecycle/agent-lifecycle.ts";
import { PaneAccess, type PaneAccessDeps } from "../lifecycle/pane-access.ts";
import { StopRequestHandler } from "../lifecycle/stop-request.ts";
import { AgentMessages } from "./agent-messages.ts";
import { AgentTerminal, type AgentTerminalDeps, type AgentTerminalOptions } from "./agent-terminal.ts";

export interface SidecarAgentDeps
  extends AgentJournalDeps,
    Pick<AgentTerminalDeps & PaneAccessDeps, "clock" | "profile" | "isAttached"> {
  readonly time: MachineTime;
  readonly nudges: NudgeObserver;
  /** Ends the agent permanently; see `StopRequestHandler`. */
  readonly onStop: (request: StopRequest) => void;
  /** Versions of the programs in use, by name. */
  readonly versions: () => Readonly<Record<string, string>>;
}

export interface SidecarAgentOptions extends SessionEventsOptions, Omit<AgentTerminalOptions, "epoch" | "startOffset"> {
  readonly redactPatterns: readonly string[];
}

/**
 * The one agent of a sidecar, as its parts: code that serves it or observes it uses the parts themselves. They do
 * nothing by themselves: `AgentTasks` runs them, and `AgentReports` passes on to them what is observed.
 */
export interface SidecarAgent extends Pick<SidecarAgentDeps, "profile" | "versions"> {
  readonly lifecycle: AgentLifecycle;
  readonly pane: PaneAccess;
  readonly terminal: AgentTerminal;
  readonly messages: AgentMessages;
  readonly events: SessionEvents;
  readonly lines: ReportedLines;
  readonly recorder: EventRecorder;
  readonly stopper: StopRequestHandler;
  readonly journal: AgentJournal;
}

/** Makes the parts, which continue from `restored`, and rewrites the journal with what was restored. */
export function openSidecarAgent(
  deps: SidecarAgentDeps,
  options: SidecarAgentOptions,
  restored: Restored,
): SidecarAgent {
  const { clock, time, profile, versions } = deps;
  const journal: AgentJournal = new AgentJournal(deps, () => recorded);
  const keep = (record: SidecarRecord) => journal.tryKeep(record);
  const offsets = ReservedOffsets.after(restored, journal);
  const { epoch, startOffset } = offsets;
  const lifecycle = new AgentLifecycle(clock.now(), restored.agent);
  const pane = new PaneAccess({ clock, lifecycle, isAttached: deps.isAttached });
  const isOurs: AgentTerminalDeps["isOurs"] = (composer, quietMs) => messages.isOurs(composer, quietMs);
  const terminal = new AgentTerminal({ clock, profile, lifecycle, pane, isOurs }, { ...options, epoch, startOffset });
  const { output, monitor } = terminal;
  const redactor = new Redactor(options.redactPatterns);
  const events = new SessionEvents({ clock, time, redactor, keep }, options, restored.events);
  const seen = { clock, profile, events, output };
  const lines = new ReportedLines({ ...seen, keep }, restored.events.reservation && restored.events.standing);
  const recorder = new EventRecorder({ ...seen, monitor, lines });
  const messages: AgentMessages = new AgentMessages({ ...deps, lifecycle, terminal, events, journal }, restored);
  const { mailbox } = messages;
  const stopping = () => {
    journal.keepAgent(true);
    monitor.signs.setProcess({ type: "stopping" });
  };
  const stopper = new StopRequestHandler(
    { clock, order: deps.onStop, stopping, exclusively: (work) => mailbox.exclusively(work) },
    restored.agent?.stopping === true,
  );
  const recorded = { offsets, lifecycle, events, lines, mailbox, stopAsked: stopper.asked };
  terminal.resumed.listen(() => lines.drawn());
  output.bytes.listen(() => offsets.extend(output.ring.end));
  journal.rewriteRestored(restored);
  return { profile, versions, lifecycle, pane, terminal, messages, events, lines, recorder, stopper, journal };
}
