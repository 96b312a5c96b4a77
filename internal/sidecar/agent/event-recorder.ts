import type { AgentProfile } from "../../agents/profile.ts";
import { firstOf, untilAborted } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { Task } from "../../base/task-group.ts";
import type { MainLine } from "../../pane/screen/main-lines.ts";
import type { OutputStream } from "../../pane/screen/output.ts";
import { joinRows } from "../../pane/screen/peek-text.ts";
import { waitForQuiet } from "../../pane/screen/screen-source.ts";
import type { StateMonitor, StateReport } from "../../pane/state/state-monitor.ts";
import { type AgentExit, exitCodeOf } from "../../process/restart-policy.ts";
import type { EventRecord, StandingLines } from "../../session/event-records.ts";
import type { SessionEvents } from "../../session/events.ts";
import type { AgentStateName, Dialog, Gap } from "../../session/types.ts";
import { FinalLines, hashesOf, STANDING_MAX } from "./final-lines.ts";

export interface EventRecorderDeps {
  readonly clock: Clock;
  readonly profile: AgentProfile;
  readonly events: SessionEvents;
  readonly monitor: Pick<StateMonitor, "changes" | "report">;
  readonly output: OutputStream;
  readonly keep: (record: EventRecord) => boolean;
}

export interface EventRecorderOptions {
  /** The lines that an earlier process reported while they were on the screen; absent: it reported nothing. */
  readonly standing?: StandingLines;
}

/** How an agent's life ended. */
export interface LifeEnd {
  readonly exit: AgentExit;
  readonly restartDue: boolean;
  readonly crashLoop: boolean;
}

/** The end of a turn is often reported a moment before it is drawn. */
const IDLE_QUIET_MS = 50;
const IDLE_WAIT_MS = 250;
/** An agent that never reports that it is idle counts as paused after this long without output. */
const PAUSE_MS = 2000;
/** The last output of an agent may arrive after its end is known. */
const LAST_QUIET_MS = 100;
const LAST_WAIT_MS = 5000;

/** Lines that scroll off are stored for a later process at most this long after they were reported. */
const KEEP_MS = 250;

/** An agent redraws its screen within this time after a resize of the window. */
const REDRAW_MS = 5000;

/** A row of line-drawing characters: the upper edge of an input box. */
const BORDER = /^[\s\u2500-\u259f]+$/;

/** Turns observations of the agent into events: lives, states, dialogs, and the lines of its terminal. */
export class EventRecorder implements Task {
  readonly #deps: EventRecorderDeps;
  readonly #isSilent: boolean;
  readonly #lines: FinalLines;
  readonly #woken = new SignalBus();
  readonly #told = new SignalBus();
  readonly #over = Promise.withResolvers<void>();
  #isNew: boolean;
  #isDrawn = false;
  /** Monotonic, ms: the window was resized, or the history was cleared. */
  #redrawnAt = 0;
  #kept: EventRecord | undefined;
  #cuts = 0;
  #state: AgentStateName | undefined;
  #dialog: Dialog | undefined;
  #wasAsked = false;
  #idle: StateReport | undefined;
  #background: StateReport["background"] = [];
  #end: LifeEnd | undefined;
  /** Version of the screen whose standing lines were reported last. */
  #toldVersion = -1;

  constructor(deps: EventRecorderDeps, options: EventRecorderOptions) {
    this.#deps = deps;
    this.#isSilent = deps.profile.idleProof === "silence";
    this.#isNew = options.standing === undefined;
    const { lines: standing = [], above = 0, isOpen = false } = options.standing ?? {};
    const known = { standing, above, isOpen, redraws: !this.#isSilent };
    this.#lines = new FinalLines((text) => deps.events.print(text), known);
    deps.monitor.changes.listen(() => this.#observe());
    deps.output.listen({
      scrolled: (lines) => this.#scrolled(lines),
      vanished: (lines) => this.#vanished(lines),
      erasing: () => this.#erasing(),
      lost: (range) => this.#lost(range),
      cleared: () => {
        this.#lines.cleared();
        this.#redrawn();
      },
      moved: (isResized) => this.#moved(isResized),
    });
  }

  /** Resolves when the session's last event has been recorded. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** The reported lines that are on the screen, or may come back to it, for a later process. */
  get standing(): EventRecord & { readonly type: "standing" } {
    const { remembered, isOpen } = this.#lines;
    const { lines, above } = this.#isDrawn ? this.#reported() : remembered;
    return { type: "standing", lines, ...(above > 0 && { above }), ...(isOpen && { isOpen }) };
  }

  #reported(): { readonly lines: readonly number[]; readonly above: number } {
    const lines = this.#deps.output.emulator.reportedEnd(STANDING_MAX).slice(-STANDING_MAX);
    return { lines: hashesOf(lines), above: lines.filter(({ isStanding }) => !isStanding).length };
  }

  /** A life begins (`fresh`), or one continues whose beginning this process has not seen. */
  alive({ fresh }: { readonly fresh: boolean }): void {
    this.#settleEnd();
    this.#wasAsked = false;
    if (fresh) this.#deps.events.started();
  }

  /** A life has ended. Its last output is awaited before the end is recorded. */
  dead(end: LifeEnd): void {
    this.#end = end;
    this.#woken.notify();
  }

  /**
   * Call it when the screen has been drawn again. If no process has reported lines before, those above the screen are
   * new too.
   */
  drawn(): void {
    const { emulator } = this.#deps.output;
    if (!this.#isDrawn && !this.#isNew) this.#lines.found(emulator.standingLines());
    this.#isDrawn = true;
    if (!this.#isNew) return;
    this.#isNew = false;
    this.#lines.scrolled(emulator.historyOfLines().map((line) => ({ ...line, isReported: false })));
  }

  async run(signal: AbortSignal): Promise<void> {
    const steps = untilAborted(signal, () => this.#step(signal));
    const keeping = untilAborted(signal, () => this.#keepTold(signal));
    await Promise.all([steps, keeping]);
  }

  /** Lines that scroll off may come back to the screen of a later process. */
  async #keepTold(signal: AbortSignal): Promise<void> {
    await this.#told.next(signal);
    await this.#deps.clock.sleep(KEEP_MS, signal);
    this.#keepStanding();
  }

  async #step(signal: AbortSignal): Promise<void> {
    const { clock, output } = this.#deps;
    if (this.#end !== undefined) {
      const before = this.#end;
      await waitForQuiet(output, LAST_QUIET_MS, LAST_WAIT_MS, clock, signal);
      const isWhole = await output.drawn(LAST_WAIT_MS);
      if (this.#end !== before) return;
      if (!isWhole) this.#lost({ first: output.drawnTo, to: output.ring.end, reason: "truncated" });
      this.#settleEnd();
    } else if (this.#idle !== undefined) {
      const before = this.#idle;
      await waitForQuiet(output, IDLE_QUIET_MS, IDLE_WAIT_MS, clock, signal);
      await output.drawn(IDLE_WAIT_MS);
      if (this.#idle !== before) return;
      this.#tellScreen();
      this.#settleIdle();
    } else if (this.#isSilent && this.#state === "uncertain") {
      await this.#awaitPause(signal);
    } else {
      await this.#woken.next(signal);
    }
  }

  /** No state shows that such an agent is done: its silence does. */
  async #awaitPause(signal: AbortSignal): Promise<void> {
    const { clock, output } = this.#deps;
    const leftMs = PAUSE_MS - output.quietMs();
    if (leftMs <= 0 && this.#toldVersion !== output.emulator.version) this.#tellScreen();
    await firstOf(
      signal,
      (stop) => (leftMs > 0 ? clock.sleep(leftMs, stop) : output.changed(PAUSE_MS, stop)),
      (stop) => this.#woken.next(stop),
    );
  }

  #observe(): void {
    const { events, monitor } = this.#deps;
    const report = monitor.report;
    this.#observeDialog(report.dialog);
    if (report.state === this.#state) {
      this.#observeBackground(report);
      return;
    }
    this.#settleIdle();
    this.#background = report.background;
    this.#state = report.state;
    if (report.state === "stopping") this.#wasAsked = true;
    if (report.state === "idle") this.#idle = report;
    else events.phase(report.state, report.since);
    this.#woken.notify();
  }

  /** Reported only while it is idle: background tasks of an unfinished turn do not say when the agent is done. */
  #observeBackground({ state, background }: StateReport): void {
    const isSame = taskIds(background) === taskIds(this.#background);
    this.#background = background;
    if (!isSame && state === "idle" && this.#idle === undefined) this.#deps.events.background(background);
  }

  #observeDialog(dialog: Dialog | undefined): void {
    if (dialog?.id === this.#dialog?.id) return;
    if (this.#dialog !== undefined) this.#deps.events.dialog("dialog-closed", this.#dialog);
    if (dialog !== undefined) this.#deps.events.dialog("dialog-opened", dialog);
    this.#dialog = dialog;
  }

  #settleIdle(): void {
    if (this.#idle !== undefined) this.#deps.events.phase("idle", this.#idle.since, this.#background);
    this.#idle = undefined;
  }

  #settleEnd(): void {
    const end = this.#end;
    if (end === undefined) return;
    this.#end = undefined;
    this.#settleIdle();
    this.#tellScreen(true);
    this.#lines.interrupted();
    const error = this.#wasAsked || exitCodeOf(end.exit) === 0 ? undefined : errorOf(end);
    this.#deps.events.stopped({ done: !end.restartDue, ...(error === undefined ? {} : { error }) });
    if (!end.restartDue) this.#over.resolve();
  }

  /** `isLast`: no one types there any more. */
  #tellScreen(isLast = false): void {
    const { output, events } = this.#deps;
    const { emulator } = output;
    this.#toldVersion = emulator.version;
    this.#settle();
    const rows = isLast ? emulator.rows : this.#outputRows();
    if (emulator.alternate) this.#lines.stoodAlternate(joinRows(emulator.rowsText(emulator.rows).slice(0, rows)));
    else this.#tellStanding(rows, isLast);
    events.flush();
    this.#keepStanding();
  }

  #moved(isResized: boolean): void {
    if (isResized) this.#redrawn();
    this.#keepStanding();
  }

  #scrolled(lines: readonly MainLine[]): void {
    this.#settle();
    this.#lines.scrolled(lines);
    this.#told.notify();
  }

  #redrawn(): void {
    this.#lines.redrawn();
    this.#redrawnAt = this.#deps.clock.monotonicMs();
  }

  #settle(): void {
    if (this.#deps.clock.monotonicMs() - this.#redrawnAt >= REDRAW_MS) this.#lines.settled();
  }

  /** A later process finds them standing. */
  #keepStanding(): void {
    const record = this.standing;
    if (JSON.stringify(record) === JSON.stringify(this.#kept)) return;
    if (this.#deps.keep(record)) this.#kept = record;
  }

  /** The lines on the first `rows` rows of the main screen. */
  #tellStanding(rows: number, isFinal: boolean): void {
    const { emulator } = this.#deps.output;
    const lines = emulator.standingLines();
    const end = emulator.screenTop + rows;
    const shown = lines.filter((line) => line.end <= end);
    const told = shown.slice(0, shown.findLastIndex(({ text }) => text.trim() !== "") + 1);
    const { isAtRowEnd } = emulator;
    // The program may continue in the cursor's line, unless it has ended or erases it.
    this.#lines.stood(told.map((line) => ({ ...line, goesOn: !isFinal && line.hasCursor && isAtRowEnd })));
    emulator.markReported(told);
  }

  /** The rows above the input box: the box, a person's text in it and the rows below it are no output. */
  #outputRows(): number {
    const { profile, output } = this.#deps;
    const { emulator } = output;
    const top = profile.view(emulator.screen()).composer?.top;
    if (top === undefined) return emulator.rows;
    const border = emulator.screen().lines[top - 1]?.text ?? "";
    return BORDER.test(border) ? top - 1 : top;
  }

  /**
   * Text that a program erases after it was on the screen was output, unless the program draws its screen itself: then
   * it erases frames.
   */
  #erasing(): void {
    const { emulator } = this.#deps.output;
    if (emulator.standingLines().every(({ isReported, text }) => isReported || text === "")) return;
    if (!this.#drawsItself()) this.#tellStanding(emulator.rows, true);
  }

  /** Lines that left the screen while the window's size was unknown here were output too. */
  #vanished(lines: readonly MainLine[]): boolean {
    if (this.#drawsItself()) return false;
    this.#lines.scrolled(lines);
    this.#keepStanding();
    return true;
  }

  #drawsItself(): boolean {
    const { profile, output } = this.#deps;
    const { composer, dialog, busy } = profile.view(output.emulator.screen());
    return composer !== undefined || dialog !== undefined || busy !== undefined;
  }

  #lost({ first, to, reason }: Gap): void {
    // The first cut is where this process begins: earlier output is of no process, or of one whose end is reported.
    if (reason === "restart" && this.#cuts++ === 0) return;
    this.#lines.interrupted();
    const how = reason === "restart" ? "restart" : "truncated";
    const size = to > first && how === "truncated" ? `${to - first} bytes of output` : "output";
    this.#deps.events.lost(how, `${size} passed without becoming lines`);
  }
}

function taskIds(tasks: StateReport["background"]): string {
  return tasks.map(({ id }) => id).join();
}

function errorOf({ exit, crashLoop }: LifeEnd): string {
  const how = exit.signal === undefined ? `exit code ${exit.code ?? 1}` : `signal ${exit.signal}`;
  const why = exit.outOfMemory === true ? ", for lack of memory" : "";
  return `the agent ended with ${how}${why}${crashLoop ? ", repeatedly" : ""}`;
}
