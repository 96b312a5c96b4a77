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
  /**
   * True: the state is the one from before a resize, since the screen is not evidence until the program has repainted
   * it.
   */
  readonly isHeld: boolean;
  readonly composerSeen: boolean;
  /** Text in the composer that is not ours. */
  readonly draft: boolean;
  /** Tasks that the agent started and that run in the background; oldest first. */
  readonly background: readonly BackgroundTask[];
  /** Parked: the end of the limit, if the agent reports it; wall clock, ms. */
  readonly parkedUntil?: number | undefined;
}

/** The newest screen, and since when it has looked like this. */
interface ScreenSeen {
  /** The life of the agent, see `ReportedSigns`: a screen from another life is not evidence about this one. */
  readonly life: number;
  /** True if the agent has shown in this life that it accepts messages. */
  readonly everReady: boolean;
  readonly key: string;
  readonly surroundings: string;
  readonly sign: ScreenSign;
}

/** The last judgement. */
interface Judged {
  /** Monotonic ms. */
  readonly at: number;
  readonly verdict: HeldVerdict;
  readonly report: StateReport;
}

/** A changed screen is judged once it has been quiet for this long. */
const LOOK_QUIET_MS = 16;
/** A screen that keeps changing is judged at this interval. */
const LOOK_EVERY_MS = 50;
/** The longest sleep without any signal. */
const IDLE_LOOK_MS = 1000;

/**
 * Derives the agent's state from evidence: the screen, which the monitor reads, and `signs`, to which other code
 * reports what it observed. Notifies `changes` of a new state, dialog, draft, task, or presence of the composer.
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

  /** The state as last judged, with the age that its evidence has now. */
  get report(): StateReport {
    const { at, report } = this.#judged;
    const passed = Math.round(this.#deps.clock.monotonicMs() - at);
    return { ...report, evidence: report.evidence.map((item) => ({ ...item, ageMs: item.ageMs + passed })) };
  }

  /**
   * Notes that the window is about to be resized, or has been. Until the program has repainted, but for a few seconds
   * at most, the state from before is kept unless there is evidence of another state.
   */
  resized(): void {
    this.#grace.begin(this.#judged.verdict, this.#judged.at, this.#deps.clock.monotonicMs());
  }

  /** Notes whether a delivery is under way: the text in the composer is then ours, and not a draft. */
  typing(now: boolean): void {
    this.#typing = now;
    if (!now) this.#wake(); // text that the delivery left may be a draft now
  }

  /**
   * Notes that a message was submitted, and judges at once, by the last screen: earlier evidence that the agent is idle
   * no longer counts.
   */
  submitted(): void {
    this.signs.submitted();
    if (this.#screen?.life === this.signs.life) this.#judge(this.#screen);
  }

  /** Notes that the agent's processes compute or write, even if it prints nothing. */
  worked(): void {
    this.signs.worked();
    this.#wake();
  }

  /**
   * The monotonic time at which an agent that is busy, or has not drawn a typed text, counts as stalled unless it
   * prints or works before that; undefined for any other agent.
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
      parkedUntil: this.#parkedUntil(state, view, wall),
    };
    this.#judged = { at: now, verdict, report };
    if (differ(report, before)) this.changes.notify();
    return report;
  }

  #background(view: ScreenView, now: number, wall: number): readonly BackgroundTask[] {
    const { process, tasks, file } = this.signs;
    return process.type === "dead" ? [] : tasks.list(view, file, this.#judged.report.background, { now, wall });
  }

  /** Reads the time when the agent is first seen parked: on a later day, the same words would mean another time. */
  #parkedUntil(state: AgentStateName, view: ScreenView, wall: number): number | undefined {
    if (state !== "parked") return undefined;
    const before = this.#judged.report;
    if (before.state === "parked") return before.parkedUntil;
    return view.parkedRow === undefined ? undefined : resetTime(view.parkedRow, wall);
  }

  #isDraft(composer: ComposerView): boolean {
    const { isOurs, source } = this.#deps;
    return isOurs === undefined ? holdsText(composer) : !isOurs(composer, source.quietMs());
  }

  /**
   * Waits for the next reason to look: a report in `signs`, a change of the screen that has settled, or the time at
   * which the verdict may change.
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
