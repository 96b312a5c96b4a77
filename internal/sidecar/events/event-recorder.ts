import type { AgentProfile } from "../../agents/profile.ts";
import { firstOf, untilAborted } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { Task } from "../../base/task-group.ts";
import type { OutputStream } from "../../pane/screen/output.ts";
import { waitForQuiet } from "../../pane/screen/screen-source.ts";
import type { StateMonitor, StateReport } from "../../pane/state/state-monitor.ts";
import { exitCodeOf } from "../../process/restart-policy.ts";
import type { SessionEvents } from "../../session/events.ts";
import type { AgentStateName, Dialog } from "../../session/types.ts";
import type { LifeEnd, LifeStart } from "../lifecycle/lifecycle-listener.ts";
import type { ReportedLines } from "./reported-lines.ts";

export interface EventRecorderDeps {
  readonly clock: Clock;
  readonly profile: AgentProfile;
  readonly events: SessionEvents;
  readonly monitor: Pick<StateMonitor, "changes" | "report">;
  readonly output: OutputStream;
  readonly lines: ReportedLines;
}

/** The end of a turn is often reported a moment before it is drawn. */
const IDLE_QUIET_MS = 50;
const IDLE_WAIT_MS = 250;
/** An agent that never reports that it is idle counts as paused after this long without output. */
const PAUSE_MS = 2000;
/** The last output of an agent may arrive after its end is known. */
const LAST_QUIET_MS = 100;
const LAST_WAIT_MS = 5000;

/** Turns observations of the agent into events: lives, states and dialogs, each after the lines before it. */
export class EventRecorder implements Task {
  readonly #deps: EventRecorderDeps;
  readonly #isSilent: boolean;
  readonly #woken = new SignalBus();
  readonly #over = Promise.withResolvers<void>();
  #state: AgentStateName | undefined;
  #dialog: Dialog | undefined;
  #wasAsked = false;
  #idle: StateReport | undefined;
  #background: StateReport["background"] = [];
  #end: LifeEnd | undefined;

  constructor(deps: EventRecorderDeps) {
    this.#deps = deps;
    this.#isSilent = deps.profile.idleProof === "silence";
    deps.monitor.changes.listen(() => this.#observe());
  }

  /** Resolves when the session's last event has been recorded. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** To be called when a life begins (`fresh`), or continues that began before this process did. */
  alive({ fresh }: Pick<LifeStart, "fresh">): void {
    this.#settleEnd();
    this.#wasAsked = false;
    if (fresh) this.#deps.events.started();
  }

  /** To be called when a life has ended. Its last output is awaited before the end is recorded. */
  dead(end: LifeEnd): void {
    this.#end = end;
    this.#woken.notify();
  }

  async run(signal: AbortSignal): Promise<void> {
    await untilAborted(signal, () => this.#step(signal));
  }

  async #step(signal: AbortSignal): Promise<void> {
    const { clock, output } = this.#deps;
    if (this.#end !== undefined) {
      const before = this.#end;
      await waitForQuiet(output, LAST_QUIET_MS, LAST_WAIT_MS, clock, signal);
      const isWhole = await output.drawn(LAST_WAIT_MS);
      if (this.#end !== before) return;
      if (!isWhole) this.#deps.lines.lost({ first: output.drawnTo, to: output.ring.end, reason: "truncated" });
      this.#settleEnd();
    } else if (this.#idle !== undefined) {
      const before = this.#idle;
      await waitForQuiet(output, IDLE_QUIET_MS, IDLE_WAIT_MS, clock, signal);
      await output.drawn(IDLE_WAIT_MS);
      if (this.#idle !== before) return;
      this.#deps.lines.tellScreen();
      this.#settleIdle();
    } else if (this.#isSilent && this.#state === "uncertain") {
      await this.#awaitPause(signal);
    } else {
      await this.#woken.next(signal);
    }
  }

  /** For an agent that shows by silence, and not by a state, that it is done. */
  async #awaitPause(signal: AbortSignal): Promise<void> {
    const { clock, output } = this.#deps;
    const leftMs = PAUSE_MS - output.quietMs();
    if (leftMs <= 0 && !this.#deps.lines.isTold) this.#deps.lines.tellScreen();
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

  /**
   * Reported only while the agent is idle: background tasks of an unfinished turn do not say when the agent is done.
   */
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
    this.#deps.lines.tellScreen(true);
    this.#deps.lines.interrupted();
    const error = this.#wasAsked || exitCodeOf(end.exit) === 0 ? undefined : errorOf(end);
    this.#deps.events.stopped({ done: !end.restartDue, error });
    if (!end.restartDue) this.#over.resolve();
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
