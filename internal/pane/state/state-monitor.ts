import type { AgentProfile, ComposerView, ScreenView } from "../../agents/profile.ts";
import { firstOf, untilAborted } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { AgentStateName, BackgroundTask, Dialog, Evidence } from "../../session/types.ts";
import type { ScreenSource } from "../screen/screen-source.ts";
import type { AgentSigns } from "./agent-signs.ts";
import { dialogFrom, viewKey } from "./dialog.ts";
import { judge, type ScreenSign } from "./judge.ts";
import { ReportedSigns } from "./reported-signs.ts";
import { resetTime } from "./reset-time.ts";
import { type HeldVerdict, ResizeGrace } from "./resize-grace.ts";
import { surroundingsOf } from "./surroundings.ts";

export interface StateMonitorDeps {
  readonly clock: Clock;
  readonly profile: AgentProfile;
  readonly source: ScreenSource;
  /** True if no person's text is in this composer: it is empty, or the text is ours (`UnsubmittedTexts`). */
  readonly isOurs?: (composer: ComposerView, quietMs: number) => boolean;
}

/** The agent's state at one moment. */
export interface StateReport {
  readonly state: AgentStateName;
  /** Wall clock, ms. */
  readonly since: number;
  readonly evidence: readonly Evidence[];
  readonly dialog?: Dialog | undefined;
  /** The state is the one from before a resize: the screen proves nothing until the program has repainted it. */
  readonly isHeld: boolean;
  readonly composerSeen: boolean;
  /** Text in the composer that is not ours. */
  readonly draft: boolean;
  /** Tasks that the agent started and that run in the background; oldest first. */
  readonly background: readonly BackgroundTask[];
  /** Parked: the end of the limit, if the agent reports it; wall clock, ms. */
  readonly parkedUntil?: number;
}

/** The newest screen, and since when it has looked like this. */
interface ScreenSeen {
  /** See `ReportedSigns`: a screen of another life proves nothing about this one. */
  readonly life: number;
  /** The agent has shown in this life that it takes messages. */
  readonly everReady: boolean;
  readonly key: string;
  readonly surroundings: string;
  readonly sign: ScreenSign;
}

/** The last judgement, at this monotonic time. */
interface Judged {
  readonly at: number;
  readonly verdict: HeldVerdict;
  readonly report: StateReport;
}

/** A screen that keeps changing is judged at least this often; a quiet one once, this long after its last change. */
const LOOK_EVERY_MS = 50;
const LOOK_QUIET_MS = 16;
/** The longest sleep without any signal. */
const IDLE_LOOK_MS = 1000;

/**
 * Derives the agent's state from evidence: the screen that it looks at, and `signs`, where other code reports what it
 * observed. Listeners on `changes` hear of a new state, dialog, draft or task.
 */
export class StateMonitor implements AgentSigns {
  readonly changes = new SignalBus();
  readonly signs: ReportedSigns;
  readonly #deps: StateMonitorDeps;
  readonly #stallAfterMs: number;
  readonly #woken = new SignalBus();
  readonly #grace = new ResizeGrace();
  #screen: ScreenSeen | undefined;
  #typing = false;
  #judged: Judged;

  constructor(deps: StateMonitorDeps, options: { readonly stallAfterMs: number }) {
    this.#deps = deps;
    this.#stallAfterMs = options.stallAfterMs;
    this.signs = new ReportedSigns(deps.clock, () => {
      this.#grace.end();
      this.#wake();
    });
    const nothing = { evidence: [], background: [], isHeld: false, composerSeen: false, draft: false };
    const report = { state: "starting", since: deps.clock.now(), ...nothing } as const;
    this.#judged = { at: 0, verdict: { state: "starting", evidence: [], isHeld: false }, report };
  }

  /** The state as of the last look, with the evidence's age brought up to now. */
  get report(): StateReport {
    const { at, report } = this.#judged;
    const passed = Math.round(this.#deps.clock.monotonicMs() - at);
    return { ...report, evidence: report.evidence.map((item) => ({ ...item, ageMs: item.ageMs + passed })) };
  }

  /**
   * The window is about to get another size, or has got one. Until the program has repainted, for a few seconds at
   * most, its screen is no reason to doubt the state from before.
   */
  resized(): void {
    this.#grace.begin(this.#judged.verdict, this.#judged.at, this.#deps.clock.monotonicMs());
  }

  /** Our own text is in the composer while a delivery is under way: that is no draft. */
  typing(now: boolean): void {
    this.#typing = now;
    if (!now) this.#wake(); // the text that it left is a draft from now on
  }

  /**
   * Notes that a message was submitted: from this moment on an earlier sign of idle proves nothing, without another
   * look.
   */
  submitted(): void {
    this.signs.submitted();
    if (this.#screen?.life === this.signs.life) this.#judge(this.#screen);
  }

  /** Its processes compute or write, though it may print nothing. */
  worked(): void {
    this.signs.worked();
    this.#wake();
  }

  /**
   * Monotonic time at which a busy agent counts as stalled unless it prints or works before that; undefined when it is
   * not busy.
   */
  get stallsAt(): number | undefined {
    return this.#judged.verdict.stallsAt;
  }

  promptTakenSince(since: number): { readonly prompt?: string; readonly at: number } | undefined {
    return this.signs.promptTakenSince(since);
  }

  reportsPrompts(): boolean {
    return this.signs.reportsPrompts();
  }

  hasReported(): boolean {
    return this.signs.hasReported();
  }

  isNew(): boolean {
    return this.signs.isNew();
  }

  waitsForPerson(): boolean {
    return this.#judged.report.state === "dialog";
  }

  /** Looks at the screen and judges until the signal is aborted. */
  run(signal: AbortSignal): Promise<void> {
    return untilAborted(signal, async () => {
      await this.look(signal);
      await this.#pause(signal);
    });
  }

  /** Reads the newest screen and judges once. */
  async look(signal: AbortSignal): Promise<StateReport> {
    const { clock, source, profile } = this.#deps;
    const screen = await source.current(signal);
    const view = profile.view(screen);
    const key = viewKey(view);
    const surroundings = surroundingsOf(screen, view, profile.movesBelow === true);
    // A screen cannot have changed after the last output, so it has been like this since then at the latest.
    const quietMs = source.quietMs();
    const drawnAt = clock.monotonicMs() - (Number.isFinite(quietMs) ? quietMs : 0);
    const { life } = this.signs;
    const before = this.#screen?.life === life ? this.#screen : undefined;
    const since = before?.key === key ? before.sign.since : drawnAt;
    const stillSince = before?.surroundings === surroundings ? before.sign.stillSince : drawnAt;
    const takes = profile.idleProof === "screen" ? view.composer !== undefined : screen.lines.some(showsSomething);
    const everReady = before?.everReady === true || (takes && this.signs.hasDrawn);
    this.#screen = {
      life,
      everReady,
      key,
      surroundings,
      sign: { view, since, stillSince, idleProof: profile.idleProof },
    };
    return this.#judge(this.#screen);
  }

  #judge({ sign, everReady }: ScreenSeen): StateReport {
    const { view } = sign;
    const now = this.#deps.clock.monotonicMs();
    const signals = { ...this.signs.signals(), everReady, screen: sign };
    const verdict = this.#grace.apply(judge(signals, now, { stallAfterMs: this.#stallAfterMs }), now);
    const before = this.#judged.report;
    const wall = this.#deps.clock.now();
    const { state, evidence, isHeld } = verdict;
    const dialog = view.dialog === undefined ? undefined : dialogFrom(view.dialog, wall);
    const kept = isHeld || dialog?.id === before.dialog?.id ? before.dialog : dialog;
    const report: StateReport = {
      state,
      since: state === before.state ? before.since : wall,
      evidence,
      dialog: state === "dialog" ? kept : undefined,
      isHeld,
      composerSeen: view.composer !== undefined,
      draft: !this.#typing && view.composer !== undefined && this.#isDraft(view.composer),
      background: this.#background(view, now, wall),
      ...this.#parkedUntil(state, view, wall),
    };
    this.#judged = { at: now, verdict, report };
    if (differ(report, before)) this.changes.notify();
    return report;
  }

  #background(view: ScreenView, now: number, wall: number): readonly BackgroundTask[] {
    const { process, tasks, file } = this.signs;
    return process.type === "dead" ? [] : tasks.list(view, file, this.#judged.report.background, { now, wall });
  }

  /** Read only once: the same words mean another day later. */
  #parkedUntil(state: AgentStateName, view: ScreenView, wall: number): Pick<StateReport, "parkedUntil"> {
    if (state !== "parked") return {};
    const before = this.#judged.report;
    if (before.state === "parked") {
      const { parkedUntil } = before;
      return parkedUntil === undefined ? {} : { parkedUntil };
    }
    const until = view.parkedRow === undefined ? undefined : resetTime(view.parkedRow, wall);
    return until === undefined ? {} : { parkedUntil: until };
  }

  #isDraft(composer: ComposerView): boolean {
    const { isOurs, source } = this.#deps;
    return isOurs === undefined ? holdsText(composer) : !isOurs(composer, source.quietMs());
  }

  /**
   * Waits for the next reason to look: a signal, a change on the screen that has calmed down, or the verdict's own
   * time.
   */
  async #pause(signal: AbortSignal): Promise<void> {
    const { clock, source } = this.#deps;
    const until = Math.min(
      this.#judged.verdict.reconsiderAt ?? Number.POSITIVE_INFINITY,
      clock.monotonicMs() + IDLE_LOOK_MS,
    );
    const changed = async (stop: AbortSignal) => {
      await source.changed(Math.max(1, until - clock.monotonicMs()), stop);
      const settled = clock.monotonicMs() + LOOK_EVERY_MS;
      while (source.quietMs() < LOOK_QUIET_MS && clock.monotonicMs() < settled) {
        await clock.sleep(LOOK_QUIET_MS - source.quietMs() + 1, stop);
      }
    };
    await firstOf(signal, (stop) => this.#woken.next(stop), changed);
  }

  #wake(): void {
    this.#woken.notify();
  }
}

/** True if the reports differ for listeners. */
function differ(report: StateReport, before: StateReport): boolean {
  return (
    report.state !== before.state ||
    report.dialog !== before.dialog ||
    report.draft !== before.draft ||
    report.composerSeen !== before.composerSeen ||
    JSON.stringify(report.background) !== JSON.stringify(before.background)
  );
}

function showsSomething({ text }: { readonly text: string }): boolean {
  return text.trim() !== "";
}

function holdsText(composer: { readonly text: string; readonly pasteMarkers: number }): boolean {
  return composer.text !== "" || composer.pasteMarkers > 0;
}
