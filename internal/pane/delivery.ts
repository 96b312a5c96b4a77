import type { AgentProfile } from "../agents/profile.ts";
import type { Screen } from "../agents/screen.ts";
import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import { ComposerProbe, type Probe, type Standing, TailProbe } from "./probe.ts";
import { type ScreenSource, waitForQuiet } from "./screen-source.ts";
import type { Evidence, NudgeOutcome } from "./types.ts";

/** The one way into the pane; `internal/tmux/pane.ts` is it. Every call may fail with `unavailable` while tmux is away. */
export interface PaneWriter {
  /** Puts text into a tmux buffer of that name. */
  stage(buffer: string, text: string): Promise<void>;
  bufferExists(buffer: string): Promise<boolean>;
  dropBuffer(buffer: string): Promise<void>;
  /** Pastes the buffer and drops it in one step; `refused` (pane dead, input off) leaves it. */
  paste(buffer: string): Promise<"pasted" | "refused">;
  /** One literal carriage return; refused when the pane is dead or somebody reads in a mode of tmux. */
  enter(): Promise<"sent" | "refused">;
}

/** What the agent itself reports, newest first; times are monotonic milliseconds. */
export interface AgentSigns {
  /** The newest report that a message was taken, if it came after `since`. */
  promptTakenSince(since: number): { readonly prompt?: string; readonly at: number } | undefined;
  /** The agent is known to report messages that it takes, so the report is worth a short wait. */
  reportsPrompts(): boolean;
  /** A source stronger than the screen says that the agent waits for a person. */
  waitsForPerson(): boolean;
}

export interface DeliveryDeps {
  readonly clock: Clock;
  readonly writer: PaneWriter;
  readonly source: ScreenSource;
  readonly profile: AgentProfile;
  readonly signs: AgentSigns;
  /** Same text by the contract's equality. */
  readonly sameText: (a: string, b: string) => boolean;
}

export interface DeliveryJob {
  /** Name of the tmux buffer that holds the text until it is pasted. */
  readonly buffer: string;
  /** Safe text, as it shall arrive. */
  readonly text: string;
  /** Called after the text was staged and before the paste: from now on it may be in front of the agent. If it throws, it is not. */
  readonly onIntent: () => void;
}

/** How one attempt ended. `retry`: not one byte was typed and the reason may pass. Times are milliseconds from the start. */
export type DeliveryResult =
  | { readonly type: "retry"; readonly reason: string }
  | {
      readonly type: "done";
      readonly outcome: NudgeOutcome;
      readonly error: string;
      readonly evidence: readonly Evidence[];
      readonly typedMs?: number;
      readonly submittedMs?: number;
      readonly confirmedMs?: number;
    };

/** The echo of a paste must show within this time, or Enter is never pressed. */
const ECHO_MS = 4000;
/** How long output may keep the screen busy before Enter is pressed all the same. */
const SETTLE_CAP_MS = 400;
/** How long one Enter may take to show its effect. */
const ENTER_MS = 1000;
const MAX_ENTERS = 3;
/** How long a recovered text is looked for. */
const RECOVER_MS = 1000;
/** The longest pause between two looks at the screen. */
const LOOK_MS = 10;
const MIXED = "other text stands with it, as when a person types into it; it was not submitted";
/** A hook's word usually comes after the screen: how long a receipt waits for this stronger evidence. */
const HOOK_GRACE_MS = 40;
/** The same while the screen does not show what was taken: only the hook can tell then that a person's keys went with it. */
const UNSEEN_GRACE_MS = 300;

/**
 * Types one text and submits it: stage, paste, see it in the composer, wait until the screen is quiet, press Enter, see it
 * leave. Presses Enter only on a composer that holds this text and nothing else, and again only while that is still so.
 * Nothing else may write to the pane meanwhile.
 */
export async function deliver(deps: DeliveryDeps, job: DeliveryJob, signal: AbortSignal): Promise<DeliveryResult> {
  return new Delivery(deps, job, signal).run();
}

/**
 * Judges an attempt of an earlier process whose end nobody saw. A buffer that is still there was never pasted (`retry`); a
 * text that stands in the composer alone is submitted now; for anything else nobody can know.
 */
export async function recoverDelivery(
  deps: DeliveryDeps,
  job: DeliveryJob,
  signal: AbortSignal,
): Promise<DeliveryResult> {
  return new Delivery(deps, job, signal).recover();
}

class Delivery {
  readonly #deps: DeliveryDeps;
  readonly #job: DeliveryJob;
  readonly #signal: AbortSignal;
  readonly #startedAt: number;
  #typedMs: number | undefined;
  #submittedMs: number | undefined;

  constructor(deps: DeliveryDeps, job: DeliveryJob, signal: AbortSignal) {
    this.#deps = deps;
    this.#job = job;
    this.#signal = signal;
    this.#startedAt = deps.clock.monotonicMs();
  }

  async run(): Promise<DeliveryResult> {
    const before = await this.#deps.source.current(this.#signal);
    const obstacle = this.#obstacle(before);
    if (obstacle !== undefined) return { type: "retry", reason: obstacle };
    const probe = this.#probeFor(before);
    const refused = await this.#paste();
    if (refused !== undefined) return refused;
    this.#typedMs = this.#elapsed();

    const echo = await this.#awaitEcho(probe);
    if (echo !== "there") return this.#afterFailedEcho(echo);
    const { settleMs } = this.#deps.profile.submit;
    await waitForQuiet(this.#deps.source, settleMs, Math.max(SETTLE_CAP_MS, settleMs), this.#deps.clock, this.#signal);
    return this.#submit(probe);
  }

  async recover(): Promise<DeliveryResult> {
    if (await this.#bufferIsStillThere()) {
      await this.#dropBuffer();
      return { type: "retry", reason: "it had not been typed yet" };
    }
    this.#typedMs = 0;
    const unseen = "the sidecar was started anew while it was being typed";
    if (this.#deps.profile.idleProof !== "screen") return this.#done("unknown", unseen, []);
    const { clock, source } = this.#deps;
    const probe = new ComposerProbe(this.#job.text);
    const end = clock.monotonicMs() + RECOVER_MS;
    for (;;) {
      // A hook's word that came while nobody listened waits in its FIFO.
      if (this.#hookProof(Number.NEGATIVE_INFINITY)?.confidence === "proof") {
        return this.#confirmed(probe, { left: false, busy: false });
      }
      const { standing } = await this.#look(probe);
      if (standing === "there") return this.#submit(probe);
      if (clock.monotonicMs() >= end) return this.#done("unknown", unseen, []);
      await source.changed(LOOK_MS, this.#signal);
    }
  }

  /** The caller judged an older screen; a dialog or a draft may have come since. */
  #obstacle(screen: Screen): string | undefined {
    const { profile, signs } = this.#deps;
    if (signs.waitsForPerson()) return "the agent waits for a person";
    if (profile.idleProof !== "screen") return undefined;
    const { dialog, composer } = profile.view(screen);
    if (dialog !== undefined) return "a dialog is open";
    if (composer === undefined) return "no composer is on the screen";
    return composer.text !== "" || composer.pasteMarkers > 0 ? "the composer is not empty" : undefined;
  }

  #probeFor(screen: Screen): Probe {
    const { profile } = this.#deps;
    return profile.idleProof === "screen"
      ? new ComposerProbe(this.#job.text, screen)
      : new TailProbe(this.#job.text, screen);
  }

  /** Undefined when the text has been typed. */
  async #paste(): Promise<DeliveryResult | undefined> {
    const { writer } = this.#deps;
    const { buffer, text, onIntent } = this.#job;
    try {
      await writer.stage(buffer, text);
    } catch (err) {
      return retryWhenUnavailable(err);
    }
    try {
      onIntent();
    } catch {
      await this.#dropBuffer();
      return { type: "retry", reason: "the intent could not be kept" };
    }
    try {
      if ((await writer.paste(buffer)) === "pasted") return undefined;
    } catch (err) {
      if (!isAway(err)) throw err;
      // The answer is lost. tmux drops the buffer in the same step as the paste, so the buffer tells.
      if (!(await this.#bufferIsStillThere())) return undefined;
      // Without its buffer a command that tmux has still to read types nothing.
      await this.#dropBuffer();
      return { type: "retry", reason: "tmux went away before the text was typed" };
    }
    await this.#dropBuffer();
    return this.#done("agent-dead", "the agent's terminal takes no input", []);
  }

  /** A buffer that stays does no harm: the next attempt replaces it. */
  async #dropBuffer(): Promise<void> {
    try {
      await this.#deps.writer.dropBuffer(this.#job.buffer);
    } catch (err) {
      if (!isAway(err)) throw err;
    }
  }

  async #bufferIsStillThere(): Promise<boolean> {
    for (;;) {
      try {
        return await this.#deps.writer.bufferExists(this.#job.buffer);
      } catch (err) {
        if (!isUnavailable(err)) throw err;
        await this.#deps.clock.sleep(50, this.#signal);
      }
    }
  }

  async #look(
    probe: Probe,
  ): Promise<{ readonly standing: Standing; readonly dialog: boolean; readonly busy: boolean }> {
    const screen = await this.#deps.source.current(this.#signal);
    const view = this.#deps.profile.view(screen);
    return { standing: probe.look(screen, view), dialog: view.dialog !== undefined, busy: view.busy !== undefined };
  }

  async #awaitEcho(probe: Probe): Promise<Standing> {
    const end = this.#deps.clock.monotonicMs() + ECHO_MS;
    for (;;) {
      const { standing, dialog } = await this.#look(probe);
      if (standing === "there") return standing;
      if (dialog || this.#deps.clock.monotonicMs() >= end) return dialog ? "hidden" : standing;
      await this.#deps.source.changed(LOOK_MS, this.#signal);
    }
  }

  #afterFailedEcho(echo: Standing): DeliveryResult {
    if (echo === "hidden") return this.#done("unknown", "a dialog opened while it was typed; it was not submitted", []);
    if (echo === "mixed") return this.#done("stranded", MIXED, []);
    return this.#done("unknown", "it was typed but never appeared in the composer; it was not submitted", []);
  }

  async #submit(probe: Probe): Promise<DeliveryResult> {
    let pressed = 0;
    for (let tries = 0; tries < MAX_ENTERS; tries++) {
      const now = await this.#look(probe);
      if (this.#submittedMs !== undefined && now.standing === "absent") {
        return this.#confirmed(probe, { left: true, busy: now.busy });
      }
      if (now.dialog || this.#deps.signs.waitsForPerson()) {
        return this.#done("stranded", "a dialog opened before it could be submitted", []);
      }
      if (now.standing !== "there") return this.#unsubmitted(now.standing);
      const pressedAt = this.#deps.clock.monotonicMs();
      if (await this.#pressEnter()) {
        this.#submittedMs ??= this.#elapsed();
        pressed++;
      }
      const result = await this.#awaitSubmitted(probe, pressedAt);
      if (result !== undefined) return result;
    }
    if (pressed === 0) return this.#done("stranded", "somebody scrolls there: no Enter was pressed", []);
    return this.#done("stranded", `it stands in the composer: Enter was pressed ${pressed}× and did not submit it`, []);
  }

  #unsubmitted(standing: Standing): DeliveryResult {
    if (standing === "mixed") return this.#done("stranded", MIXED, []);
    return this.#done("unknown", "it left the composer before it was submitted", []);
  }

  /** False: certainly not. */
  async #pressEnter(): Promise<boolean> {
    try {
      return (await this.#deps.writer.enter()) === "sent";
    } catch (err) {
      // Whether it was pressed shows on the screen, where it is looked for next.
      if (!isAway(err)) throw err;
      return true;
    }
  }

  /** Undefined when the text is proven to be in the composer still. */
  async #awaitSubmitted(probe: Probe, pressedAt: number): Promise<DeliveryResult | undefined> {
    const { clock, source } = this.#deps;
    const end = clock.monotonicMs() + ENTER_MS;
    for (;;) {
      const { standing, busy } = await this.#look(probe);
      if (standing === "absent") {
        return this.#submittedMs === undefined
          ? this.#unsubmitted(standing)
          : this.#confirmed(probe, { left: true, busy });
      }
      const late = clock.monotonicMs() >= end;
      // The agent's word may come before it draws: its old drawing must not be taken for a draft afterwards.
      const drawn = standing !== "there" && standing !== "partial";
      if ((drawn || late) && this.#hookProof(pressedAt) !== undefined)
        return this.#confirmed(probe, { left: false, busy });
      if (late) {
        if (standing === "there") return undefined;
        return this.#done("unknown", "Enter was pressed and the composer cannot be seen any more", []);
      }
      await source.changed(LOOK_MS, this.#signal);
    }
  }

  #hookProof(since: number): Evidence | undefined {
    const taken = this.#deps.signs.promptTakenSince(since);
    if (taken === undefined) return undefined;
    if (taken.prompt !== undefined && !this.#deps.sameText(taken.prompt, this.#job.text)) return undefined;
    const value = taken.prompt === undefined ? "the agent took a message" : "the agent took this text";
    const ageMs = Math.round(this.#deps.clock.monotonicMs() - taken.at);
    return { source: "hook", value, ageMs, confidence: taken.prompt === undefined ? "strong" : "proof" };
  }

  /** The agent says that it took our text with something else in it: a person's keys that no screen had shown yet. */
  #tookMore(since: number): boolean {
    const prompt = this.#deps.signs.promptTakenSince(since)?.prompt;
    if (prompt === undefined || this.#deps.sameText(prompt, this.#job.text)) return false;
    return new ComposerProbe(this.#job.text).standingOf({ text: prompt, pasteMarkers: 0 }) === "mixed";
  }

  /** `left`: the screen shows that it is not in the composer any more. */
  async #confirmed(
    probe: Probe,
    { left, busy }: { readonly left: boolean; readonly busy: boolean },
  ): Promise<DeliveryResult> {
    const { clock, signs, source } = this.#deps;
    const since = this.#submittedMs === undefined ? Number.NEGATIVE_INFINITY : this.#startedAt + this.#submittedMs;
    const confirmedMs = this.#elapsed();
    const leftAt = clock.monotonicMs();
    let hook = this.#hookProof(since);
    while (hook === undefined) {
      const repeated = left ? await this.#repeated(probe) : "alone";
      if (repeated === "more" || this.#tookMore(since)) {
        return this.#done("unknown", "the agent took it together with something else", []);
      }
      const graceMs = repeated === "alone" ? HOOK_GRACE_MS : UNSEEN_GRACE_MS;
      if (!signs.reportsPrompts() || clock.monotonicMs() >= leftAt + graceMs) break;
      await source.changed(LOOK_MS, this.#signal);
      hook = this.#hookProof(since);
    }
    if (hook === undefined && this.#mayBeSplit()) {
      return this.#done("unknown", "it left the prompt; this program may have taken each of its lines by itself", []);
    }
    const evidence: Evidence[] = hook === undefined ? [] : [hook];
    if (left) evidence.push({ source: "screen", value: "it left the composer", ageMs: 0, confidence: "strong" });
    if (busy) evidence.push({ source: "screen", value: "the agent works", ageMs: 0, confidence: "weak" });
    return { ...this.#done("submitted", "", evidence), confirmedMs };
  }

  /** A line reader takes the first line, or each by itself, and its screen looks as if it had taken the text. */
  #mayBeSplit(): boolean {
    return this.#deps.profile.idleProof !== "screen" && this.#job.text.includes("\n");
  }

  async #repeated(probe: Probe): Promise<"alone" | "more" | "unseen"> {
    if (!(probe instanceof ComposerProbe)) return "unseen";
    const screen = await this.#deps.source.current(this.#signal);
    return probe.repeated(screen, this.#deps.profile.view(screen));
  }

  #elapsed(): number {
    return Math.round(this.#deps.clock.monotonicMs() - this.#startedAt);
  }

  #done(
    outcome: NudgeOutcome,
    error: string,
    evidence: readonly Evidence[],
  ): DeliveryResult & { readonly type: "done" } {
    const seen: readonly Evidence[] =
      evidence.length > 0 ? evidence : [{ source: "screen", value: error, ageMs: 0, confidence: "strong" }];
    return {
      type: "done",
      outcome,
      error,
      evidence: seen,
      ...(this.#typedMs === undefined ? {} : { typedMs: this.#typedMs }),
      ...(this.#submittedMs === undefined ? {} : { submittedMs: this.#submittedMs }),
    };
  }
}

function isUnavailable(err: unknown): boolean {
  return err instanceof DomainError && err.kind === "unavailable";
}

/** tmux does not answer, or the pane has gone. */
function isAway(err: unknown): boolean {
  return isUnavailable(err) || (err instanceof DomainError && err.kind === "precondition");
}

function retryWhenUnavailable(err: unknown): DeliveryResult {
  if (!isUnavailable(err)) throw err;
  return { type: "retry", reason: "tmux does not answer" };
}
