import type { AgentProfile, ComposerView, FileState, HookEvent, ScreenView } from "../../agents/profile.ts";
import { untilAborted } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { SignalBus } from "../../base/signal-bus.ts";
import type { AgentStateName, BackgroundTask, Dialog, Evidence } from "../../session/types.ts";
import type { ScreenSource } from "../screen/screen-source.ts";
import type { AgentSigns } from "./agent-signs.ts";
import { dialogFrom, viewKey } from "./dialog.ts";
import { HookedTasks } from "./hooked-tasks.ts";
import { FILE_LAG_MS, judge, type ProcessSign, type ScreenSign, type Signals } from "./judge.ts";
import { resetTime } from "./reset-time.ts";
import { type HeldVerdict, ResizeGrace } from "./resize-grace.ts";
import { surroundingsOf } from "./surroundings.ts";

export interface MonitorDeps {
  readonly clock: Clock;
  readonly profile: AgentProfile;
  readonly source: ScreenSource;
  /** Nothing of a person's stands in this composer: it is empty, or what stands there is ours (`UnsubmittedTexts`). */
  readonly isOurs?: (composer: ComposerView, quietMs: number) => boolean;
}

/** The agent's state at one moment. */
export interface StateReport {
  readonly state: AgentStateName;
  /** Wall clock, ms. */
  readonly since: number;
  readonly evidence: readonly Evidence[];
  readonly dialog?: Dialog;
  /** The state is the one from before a resize: the screen proves nothing until the program has repainted it. */
  readonly isHeld: boolean;
  readonly composerSeen: boolean;
  /** Text in the composer that is not ours. */
  readonly draft: boolean;
  /** What the agent started and that goes on behind its turns; oldest first. */
  readonly background: readonly BackgroundTask[];
  /** Parked: when the limit ends, where the agent tells it; wall clock, ms. */
  readonly parkedUntil?: number;
}

/** A screen that keeps changing is judged at least this often; a quiet one once, this long after its last change. */
const LOOK_EVERY_MS = 50;
const LOOK_QUIET_MS = 16;
/** The longest sleep without any signal. */
const IDLE_LOOK_MS = 1000;

/**
 * Keeps the agent's state from evidence: screens, hooks, the agent's own state file, the process. Others tell it what they
 * saw (`heard`, `read`, `process`, `submitted`) and listen on `changes` for a new state, dialog or draft.
 */
export class Monitor implements AgentSigns {
  readonly changes = new SignalBus();
  readonly #deps: MonitorDeps;
  readonly #stallAfterMs: number;
  readonly #woken = new SignalBus();
  #process: ProcessSign = { type: "expected" };
  #startedAt: number;
  #everReady = false;
  #sawStart = false;
  #hook: Signals["hook"];
  #prompt: { readonly prompt?: string; readonly at: number } | undefined;
  #hooksLive = false;
  #file: Signals["file"];
  #oldWaitingUntil = 0;
  readonly #tasks = new HookedTasks();
  #screen: (Omit<ScreenSign, "idleProof"> & { readonly key: string; readonly surroundings: string }) | undefined;
  #lastOutputAt: number | undefined;
  #lastWorkAt: number | undefined;
  #typing = false;
  #submittedAt: number | undefined;
  #typedAt: number | undefined;
  readonly #grace = new ResizeGrace();
  #verdict: HeldVerdict = { state: "starting", evidence: [], isHeld: false };
  #report: StateReport;
  #judgedAt = 0;

  constructor(deps: MonitorDeps, options: { readonly stallAfterMs: number }) {
    this.#deps = deps;
    this.#stallAfterMs = options.stallAfterMs;
    this.#startedAt = deps.clock.monotonicMs();
    const nothing = { evidence: [], background: [], isHeld: false, composerSeen: false, draft: false };
    this.#report = { state: "starting", since: deps.clock.now(), ...nothing };
  }

  /** The state as of the last look, with the evidence's age brought up to now. */
  get report(): StateReport {
    const passed = Math.round(this.#deps.clock.monotonicMs() - this.#judgedAt);
    const evidence = this.#report.evidence.map((item) => ({ ...item, ageMs: item.ageMs + passed }));
    return { ...this.#report, evidence };
  }

  /** A new life of the agent: nothing that was known of the old one holds. */
  started(): void {
    this.#startedAt = this.#deps.clock.monotonicMs();
    this.#everReady = false;
    this.#sawStart = true;
    // An agent may have reported before anybody looked for it.
    if (this.#process.type !== "expected") this.#hook = undefined;
    this.#file = undefined;
    this.#tasks.clear();
    this.#screen = undefined;
    this.#submittedAt = undefined;
    this.#typedAt = undefined;
    this.process({ type: "alive" });
  }

  /** The agent had been running before this process began to look. */
  resumed(): void {
    this.process({ type: "alive" });
  }

  process(sign: ProcessSign): void {
    if (JSON.stringify(sign) === JSON.stringify(this.#process)) return;
    this.#process = sign;
    this.#learned();
  }

  heard(event: HookEvent): void {
    const at = this.#deps.clock.monotonicMs();
    this.#hooksLive = true;
    // After a turn that left sub-agents behind the next one begins with a prompt: until then they alone are active.
    if (event.type === "activity" && this.#hook !== undefined && leavesAgents(this.#hook.event)) return;
    this.#hook = { event, at };
    this.#tasks.hear(event, at);
    if (event.type === "prompt-submitted") {
      this.#prompt = event.prompt === undefined ? { at } : { at, prompt: event.prompt };
    }
    this.#learned();
  }

  /** What the agent's state file says now; undefined when there is none that can be trusted. */
  read(state: FileState | undefined): void {
    if (state?.type === "waiting" && this.#deps.clock.monotonicMs() < this.#oldWaitingUntil) return;
    this.#oldWaitingUntil = 0;
    if (fileKey(state) === fileKey(this.#file?.state)) return;
    this.#file = state === undefined ? undefined : { state, at: this.#deps.clock.monotonicMs() };
    this.#learned();
  }

  /**
   * The window is about to get another size, or has got one. Until the program has repainted, for a few seconds at most, its
   * screen is no reason to doubt the state from before.
   */
  resized(): void {
    this.#grace.begin(this.#verdict, this.#judgedAt, this.#deps.clock.monotonicMs());
  }

  /** Our own text stands in the composer while a delivery is under way: that is no draft. */
  typing(now: boolean): void {
    this.#typing = now;
    if (!now) this.#wake(); // what it left standing is a draft from now on
  }

  /** Something was typed at that time; until the agent prints, or undefined is told, it may hang. Monotonic ms. */
  typedInto(at: number | undefined): void {
    this.#typedAt = at;
    this.#learned();
  }

  submitted(): void {
    this.#submittedAt = this.#deps.clock.monotonicMs();
    this.#learned();
  }

  /**
   * The dialog that was on the screen has been answered and is gone: a word of "waiting" from before is over, also in a
   * state file that has still to be written again.
   */
  answered(): void {
    if (this.#hook?.event.type === "waiting") this.#hook = undefined;
    if (this.#file?.state.type === "waiting") {
      this.#file = undefined;
      this.#oldWaitingUntil = this.#deps.clock.monotonicMs() + FILE_LAG_MS;
    }
    this.#learned();
  }

  printed(): void {
    this.#lastOutputAt = this.#deps.clock.monotonicMs();
  }

  /** Its processes compute or write, though it may print nothing. */
  worked(): void {
    this.#lastWorkAt = this.#deps.clock.monotonicMs();
    this.#wake();
  }

  /** Monotonic time at which a busy agent counts as stalled unless it prints or works before that; undefined when it is not busy. */
  get stallsAt(): number | undefined {
    return this.#verdict.stallsAt;
  }

  promptTakenSince(since: number): { readonly prompt?: string; readonly at: number } | undefined {
    return this.#prompt !== undefined && this.#prompt.at >= since ? this.#prompt : undefined;
  }

  reportsPrompts(): boolean {
    return this.#hooksLive;
  }

  hasReported(): boolean {
    return this.promptTakenSince(this.#startedAt) !== undefined;
  }

  isNew(): boolean {
    return this.#sawStart && this.#submittedAt === undefined && !this.hasReported();
  }

  waitsForPerson(): boolean {
    return this.#report.state === "dialog";
  }

  /** Looks at the screen and judges until the signal is aborted. */
  run(signal: AbortSignal): Promise<void> {
    return untilAborted(signal, async () => {
      await this.look(signal);
      await this.#pause(signal);
    });
  }

  /** Takes in the newest screen and judges once. */
  async look(signal: AbortSignal): Promise<StateReport> {
    const { clock, source, profile } = this.#deps;
    const screen = await source.current(signal);
    const view = profile.view(screen);
    const key = viewKey(view);
    const surroundings = surroundingsOf(screen, view, profile.movesBelow === true);
    // A screen cannot have changed after the last output, so it has been like this since then at the latest.
    const quietMs = source.quietMs();
    const drawnAt = clock.monotonicMs() - (Number.isFinite(quietMs) ? quietMs : 0);
    const before = this.#screen;
    const since = before?.key === key ? before.since : drawnAt;
    const stillSince = before?.surroundings === surroundings ? before.stillSince : drawnAt;
    this.#screen = { view, key, since, surroundings, stillSince };
    const takes = profile.idleProof === "screen" ? view.composer !== undefined : screen.lines.some(showsSomething);
    if (takes && this.#process.type === "alive") this.#everReady = true;
    return this.#judge(view);
  }

  #judge(view: ScreenView): StateReport {
    const now = this.#deps.clock.monotonicMs();
    this.#judgedAt = now;
    this.#verdict = this.#grace.apply(judge(this.#signals(), now, { stallAfterMs: this.#stallAfterMs }), now);
    const before = this.#report;
    const wall = this.#deps.clock.now();
    const { state, evidence, isHeld } = this.#verdict;
    const isDead = this.#process.type === "dead";
    const dialog = view.dialog === undefined ? undefined : dialogFrom(view.dialog, wall);
    const kept = isHeld || dialog?.id === before.dialog?.id ? before.dialog : dialog;
    this.#report = {
      state,
      since: state === before.state ? before.since : wall,
      evidence,
      ...(kept === undefined || state !== "dialog" ? {} : { dialog: kept }),
      isHeld,
      composerSeen: view.composer !== undefined,
      draft: !this.#typing && view.composer !== undefined && this.#isDraft(view.composer),
      background: isDead ? [] : this.#tasks.list(view, this.#file, before.background, { now, wall }),
      ...this.#parkedUntil(state, view, wall),
    };
    const same = state === before.state && kept === before.dialog && this.#report.draft === before.draft;
    const sameTasks = taskKey(this.#report.background) === taskKey(before.background);
    if (!same || !sameTasks || this.#report.composerSeen !== before.composerSeen) this.changes.notify();
    return this.#report;
  }

  /** Read once: the same words mean another day later. */
  #parkedUntil(state: AgentStateName, view: ScreenView, wall: number): Pick<StateReport, "parkedUntil"> {
    if (state !== "parked") return {};
    if (this.#report.state === "parked") {
      const { parkedUntil } = this.#report;
      return parkedUntil === undefined ? {} : { parkedUntil };
    }
    const until = view.parkedRow === undefined ? undefined : resetTime(view.parkedRow, wall);
    return until === undefined ? {} : { parkedUntil: until };
  }

  #isDraft(composer: ComposerView): boolean {
    const { isOurs, source } = this.#deps;
    return isOurs === undefined ? holdsText(composer) : !isOurs(composer, source.quietMs());
  }

  #signals(): Signals {
    return {
      process: this.#process,
      startedAt: this.#startedAt,
      everReady: this.#everReady,
      ...(this.#hook === undefined ? {} : { hook: this.#hook }),
      ...(this.#file === undefined ? {} : { file: this.#file }),
      ...(this.#screen === undefined ? {} : { screen: { ...this.#screen, idleProof: this.#deps.profile.idleProof } }),
      ...(this.#lastOutputAt === undefined ? {} : { lastOutputAt: this.#lastOutputAt }),
      ...(this.#lastWorkAt === undefined ? {} : { lastWorkAt: this.#lastWorkAt }),
      ...(this.#submittedAt === undefined ? {} : { submittedAt: this.#submittedAt }),
      ...(this.#typedAt === undefined ? {} : { typedAt: this.#typedAt }),
    };
  }

  /** Waits for the next reason to look: a signal, a change on the screen that has calmed down, or the verdict's own time. */
  async #pause(signal: AbortSignal): Promise<void> {
    const { clock, source } = this.#deps;
    const until = Math.min(this.#verdict.reconsiderAt ?? Number.POSITIVE_INFINITY, clock.monotonicMs() + IDLE_LOOK_MS);
    const done = new AbortController();
    const either = AbortSignal.any([signal, done.signal]);
    const woken = this.#woken.next(either);
    const changed = source.changed(Math.max(1, until - clock.monotonicMs()), either).then(async () => {
      const settled = clock.monotonicMs() + LOOK_EVERY_MS;
      while (source.quietMs() < LOOK_QUIET_MS && clock.monotonicMs() < settled) {
        await clock.sleep(LOOK_QUIET_MS - source.quietMs() + 1, either);
      }
    });
    try {
      await Promise.race([woken, changed]);
    } finally {
      woken.catch(() => {});
      changed.catch(() => {});
      done.abort();
    }
  }

  /** Something other than the screen says more than the state from before a resize. */
  #learned(): void {
    this.#grace.end();
    this.#wake();
  }

  #wake(): void {
    this.#woken.notify();
  }
}

function leavesAgents(event: HookEvent): boolean {
  return event.type === "turn-ended" && (event.background ?? []).some(({ kind }) => kind !== "shell");
}

function fileKey(state: FileState | undefined): string {
  return state?.type === "idle" ? `idle ${state.background ?? ""}` : (state?.type ?? "");
}

function taskKey(tasks: readonly BackgroundTask[]): string {
  return JSON.stringify(tasks);
}

function showsSomething({ text }: { readonly text: string }): boolean {
  return text.trim() !== "";
}

function holdsText(composer: { readonly text: string; readonly pasteMarkers: number }): boolean {
  return composer.text !== "" || composer.pasteMarkers > 0;
}
