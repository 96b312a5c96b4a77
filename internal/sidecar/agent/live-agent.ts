import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { AgentProfile, ComposerView, FileState, HookEvent, SafeText } from "../../agents/profile.ts";
import { normalise } from "../../agents/safe-text.ts";
import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { MachineTime } from "../../base/machine-time.ts";
import { Redactor } from "../../base/redact.ts";
import type { Journal } from "../../eventlog/journal.ts";
import { People } from "../../pane/attach/attach-people.ts";
import { AgentDeliveries } from "../../pane/delivery/agent-deliveries.ts";
import type { Situation } from "../../pane/delivery/delivery-policy.ts";
import { Mailbox, type NudgeObserver } from "../../pane/delivery/mailbox.ts";
import { RECEIPT_KEEP, RECEIPT_KEEP_MS } from "../../pane/delivery/nudge-book.ts";
import { textsLeftBy } from "../../pane/delivery/unconfirmed-text.ts";
import { UnsubmittedTexts } from "../../pane/delivery/unsubmitted-texts.ts";
import type { Redraw } from "../../pane/screen/drawing.ts";
import { OutputStream } from "../../pane/screen/output.ts";
import { Peeker } from "../../pane/screen/peek.ts";
import { StateMonitor } from "../../pane/state/state-monitor.ts";
import { SessionEvents } from "../../session/events.ts";
import { type RestoredNudge, recordsOf, restoreNudges } from "../../session/nudge-record.ts";
import type { StopRequest } from "../../session/stop.ts";
import type { PaneStatus } from "../../session/types.ts";
import type { PaneCut } from "../../tmux/pane/pane.ts";
import { EventRecorder } from "../events/event-recorder.ts";
import { ReportedLines } from "../events/reported-lines.ts";
import { AgentJournal } from "../journal/agent-journal.ts";
import type { Restored, SidecarRecord } from "../journal/journal-records.ts";
import { ReservedOffsets } from "../journal/reserved-offsets.ts";
import type { AgentLifecycle } from "../lifecycle/agent-lifecycle.ts";
import type { LifeEnd, LifeStart } from "../lifecycle/lifecycle-listener.ts";
import type { PaneAccess } from "../lifecycle/pane-access.ts";
import { StopRequestHandler } from "../lifecycle/stop-request.ts";
import { redrawOfCut } from "./cut-redraw.ts";

export interface LiveAgentDeps {
  readonly clock: Clock;
  readonly time: MachineTime;
  readonly logger: Logger;
  readonly profile: AgentProfile;
  readonly journal: Journal<SidecarRecord>;
  readonly lifecycle: AgentLifecycle;
  readonly pane: PaneAccess;
  readonly nudges: NudgeObserver;
  /** Ends the agent permanently; see `StopRequestHandler`. */
  readonly onStop: (request: StopRequest) => void;
  /** Versions of the programs in use, by name. */
  readonly versions: () => Readonly<Record<string, string>>;
}

export interface LiveAgentOptions {
  readonly cols: number;
  readonly rows: number;
  readonly rawBytes: number;
  readonly stallAfterMs: number;
  readonly eventBuffer: number;
  readonly eventBytes: number;
  readonly redactPatterns: readonly string[];
}

/** One agent's terminal in the serving half: output, state, messages. */
export class LiveAgent {
  readonly output: OutputStream;
  readonly monitor: StateMonitor;
  readonly mailbox: Mailbox;
  readonly peeker: Peeker;
  readonly people: People;
  readonly events: SessionEvents;
  readonly lines: ReportedLines;
  readonly recorder: EventRecorder;
  readonly stopper: StopRequestHandler;
  readonly #deps: LiveAgentDeps;
  readonly #journal: AgentJournal;
  readonly #offsets: ReservedOffsets;
  readonly #deliveries: AgentDeliveries;
  #restartDue = true;
  #ended: string | undefined;

  /** Continues from `restored`, and rewrites the journal with it. */
  static open(deps: LiveAgentDeps, options: LiveAgentOptions, restored: Restored): LiveAgent {
    const journal = new AgentJournal(deps);
    const offsets = ReservedOffsets.after(restored, journal);
    const agent = new LiveAgent(deps, options, restored, journal, offsets);
    agent.output.bytes.listen(() => offsets.extend(agent.output.ring.end));
    journal.rewriteDue.listen(() => agent.rewriteJournal());
    journal.rewrite(agent.#restoredRecords(restored));
    return agent;
  }

  private constructor(
    deps: LiveAgentDeps,
    options: LiveAgentOptions,
    restored: Restored,
    journal: AgentJournal,
    offsets: ReservedOffsets,
  ) {
    this.#deps = deps;
    const { clock, time, profile } = deps;
    this.#journal = journal;
    this.#offsets = offsets;
    const { epoch, startOffset } = offsets;
    this.output = new OutputStream({ clock }, { ...options, epoch, startOffset });
    const nudges = restoreNudges(restored.nudges, time, RECEIPT_KEEP_MS, RECEIPT_KEEP);
    const left = textsLeftBy(nudges, restored.agent?.startedAt ?? 0);
    const standing = new UnsubmittedTexts(left.map(({ text }) => text));
    const isOurs = (composer: ComposerView, quietMs: number) => standing.isOurs(composer, quietMs, clock.monotonicMs());
    this.monitor = new StateMonitor(
      { clock, profile, source: this.output, isOurs },
      { stallAfterMs: options.stallAfterMs },
    );
    const keep = (record: SidecarRecord) => this.#journal.tryKeep(record);
    const redactor = new Redactor(options.redactPatterns);
    this.events = new SessionEvents({ clock, time, redactor, keep }, options, restored.events);
    const seen = { clock, profile, events: this.events, output: this.output };
    this.lines = new ReportedLines({ ...seen, keep }, restored.events.reservation && restored.events.standing);
    this.recorder = new EventRecorder({ ...seen, monitor: this.monitor, lines: this.lines });
    const { lifecycle, pane } = deps;
    const panes = { pane: () => lifecycle.pane, paneForPeek: pane.forPeek };
    this.peeker = new Peeker({ clock, output: this.output, ...panes, alive: () => lifecycle.alive });
    this.people = new People(
      {
        ...{ clock, size: () => this.output.emulator, resize: (size) => this.#resize(size) },
        typedInTmux: async () => await lifecycle.pane?.personTypedAt(),
      },
      { own: { cols: options.cols, rows: options.rows } },
    );
    const { output, monitor, people } = this;
    this.#deliveries = new AgentDeliveries(
      {
        clock,
        profile,
        pane: () => deps.lifecycle.pane,
        output,
        monitor,
        people,
        standing,
        restartDue: () => this.#restartDue,
      },
      left,
    );
    this.mailbox = this.#newMailbox(nudges);
    this.stopper = new StopRequestHandler(
      {
        clock,
        order: deps.onStop,
        stopping: () => this.#noteStop(),
        exclusively: (work) => this.mailbox.exclusively(work),
      },
      restored.agent?.stopping === true,
    );
  }

  #newMailbox(nudges: readonly RestoredNudge[]): Mailbox {
    const { clock, time, logger, nudges: observer } = this.#deps;
    return new Mailbox(
      {
        clock,
        time,
        logger,
        keep: (record) => {
          this.#journal.keep(record);
          if (record.type === "accepted") this.events.accepted(record.nudge);
        },
        clean: (message) => this.clean(message),
        courier: this.#deliveries,
        changes: this.monitor.changes,
        held: observer.held.bind(observer),
        ended: (receipt, heldBy) => {
          this.events.receipt(receipt);
          observer.ended(receipt, heldBy);
        },
        newId: randomUUID,
      },
      nudges,
    );
  }

  /** Makes a message safe to type into this agent. */
  clean(message: string): SafeText {
    const normal = normalise(message);
    return normal.type === "safe" ? this.#deps.profile.defuse(normal.text) : normal;
  }

  /** The obstacle to a text, from a fresh look at the screen. */
  situation(signal: AbortSignal): Promise<Situation> {
    return this.#deliveries.situation(signal);
  }

  get pane(): PaneAccess {
    return this.#deps.pane;
  }

  /** The reason why nothing more will come; undefined while more may come. */
  get ended(): string | undefined {
    return this.#ended;
  }

  get isAlive(): boolean {
    return this.#deps.lifecycle.alive;
  }

  alive(life: LifeStart): void {
    this.#ended = undefined;
    this.recorder.alive(life);
    if (life.fresh) {
      this.#deliveries.newLife();
      const record = this.#agentRecord();
      const { restarts } = record;
      this.#journal.tryKeep({ ...record, pid: life.pid });
      this.monitor.signs.started();
      if (restarts > 0) this.people.tell(`the agent was restarted (${restarts} so far)`);
    } else {
      this.monitor.signs.resumed();
    }
    this.stopper.alive();
  }

  dead(end: LifeEnd): void {
    this.#restartDue = end.restartDue;
    this.recorder.dead(end);
    this.stopper.dead(end.exit, end.restartDue);
    this.monitor.signs.processIs({ type: "dead", restartDue: end.restartDue, crashLoop: end.crashLoop });
    if (!end.restartDue) this.end("the agent has ended");
    else this.people.tell(end.crashLoop ? "the agent keeps ending" : "the agent has ended and is being restarted");
  }

  /** Ends the watchers' streams. */
  end(reason: string): void {
    this.#ended = reason;
    this.output.bytes.notify();
    this.output.screens.notify();
  }

  /** The pane's size as tmux has it. */
  sized({ cols, rows }: { readonly cols: number; readonly rows: number }): void {
    const { emulator } = this.output;
    if (cols === emulator.cols && rows === emulator.rows) return;
    this.monitor.resized();
    void this.output.resize(cols, rows);
  }

  heard(event: HookEvent): void {
    if (event.agentSessionId !== undefined) this.inSession(event.agentSessionId);
    this.monitor.signs.heard(event);
    this.output.screens.notify(); // a delivery that waits for the screen handles this report as well
  }

  /** The agent's own id of its conversation is known. */
  inSession(id: string): void {
    if (!this.#deps.lifecycle.inSession(id)) return;
    this.#journal.tryKeep({ ...this.#agentRecord(), stopping: this.stopper.asked.aborted });
  }

  read(state: FileState | undefined): void {
    this.monitor.signs.read(state);
  }

  take(chunk: Uint8Array): void {
    this.monitor.signs.printed();
    this.output.take(chunk);
  }

  /** The screen as it is at a cut; the bytes that follow are drawn from there. */
  async resumeOutputFrom(cut: PaneCut, history: number): Promise<void> {
    await this.output.resumeFrom(this.#redrawOf(cut, history), cut.facts.activityAt);
    this.monitor.signs.redrawn();
    this.output.screens.notify();
    this.lines.drawn();
  }

  #redrawOf(cut: PaneCut, history: number): Redraw {
    return redrawOfCut(cut, { history, freshTitle: hostname() });
  }

  /** The screen as tmux had it when the stream had come to `at`; see `OutputStream.redraw`. */
  redraw(cut: PaneCut, history: number, at: bigint, isExact: boolean): Promise<void> {
    this.monitor.signs.redrawn();
    return this.output.redraw(this.#redrawOf(cut, history), at, isExact);
  }

  status(): PaneStatus {
    const { lifecycle, clock } = this.#deps;
    const { state, since, evidence, dialog, draft, background, parkedUntil } = this.monitor.report;
    const { output } = this;
    return {
      alive: lifecycle.alive,
      state,
      stateSince: since,
      ...(dialog === undefined ? {} : { dialog }),
      evidence,
      agentPid: lifecycle.alive ? lifecycle.pid : 0,
      ...(lifecycle.exitCode === undefined ? {} : { exitCode: lifecycle.exitCode }),
      restarts: lifecycle.restarts,
      uptimeSeconds: lifecycle.alive ? Math.max(0, Math.floor((clock.now() - lifecycle.startedAt) / 1000)) : 0,
      ...(output.lastOutputAt === undefined ? {} : { lastOutputAt: output.lastOutputAt }),
      queueDepth: this.mailbox.depth,
      attached: this.people.count,
      epoch: output.epoch,
      cols: output.emulator.cols,
      rows: output.emulator.rows,
      draft,
      background,
      ...(parkedUntil === undefined ? {} : { parkedUntil }),
      ...(lifecycle.agentSessionId === undefined ? {} : { agentSessionId: lifecycle.agentSessionId }),
      versions: this.#deps.versions(),
    };
  }

  async #resize({ cols, rows }: { readonly cols: number; readonly rows: number }): Promise<void> {
    const { pane } = this.#deps.lifecycle;
    if (pane === undefined) throw new DomainError("unavailable", "cannot resize the window: tmux is away");
    this.monitor.resized(); // the program may repaint before tmux has answered
    await pane.resize(cols, rows);
    const { cols: width, rows: height } = await pane.facts(); // less than requested if someone has split the window
    await this.output.resize(width, height);
  }

  /** Leaves a journal with everything needed after a crash, whatever happened to the file. */
  rewriteJournal(): void {
    const agent = { ...this.#agentRecord(), stopping: this.stopper.asked.aborted };
    this.#journal.rewrite([...this.#records(this.lines.standing), agent]);
  }

  /** It was asked to end permanently: nothing more is typed. */
  #noteStop(): void {
    this.#journal.tryKeep({ ...this.#agentRecord(), stopping: true });
    this.monitor.signs.processIs({ type: "stopping" });
  }

  /** Before anything is known of the agent's life now. */
  #restoredRecords({ events, agent }: Restored): readonly SidecarRecord[] {
    return [...this.#records({ type: "standing", ...events.standing }), ...(agent === undefined ? [] : [agent])];
  }

  #records(standing: SidecarRecord): readonly SidecarRecord[] {
    return [this.#offsets.record, ...this.events.records(), standing, ...recordsOf(this.mailbox.snapshot())];
  }

  #agentRecord() {
    const { pid, startedAt, restarts, agentId, oomKills, agentSessionId } = this.#deps.lifecycle;
    const known = {
      ...(agentId !== undefined && { agentId }),
      ...(oomKills !== undefined && { oomKills }),
      ...(agentSessionId !== undefined && { agentSessionId }),
    };
    return { type: "agent" as const, pid, startedAt, restarts, ...known };
  }
}
