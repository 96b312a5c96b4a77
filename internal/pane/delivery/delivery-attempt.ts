import type { AgentProfile } from "../../agents/profile.ts";
import type { Clock } from "../../base/clock.ts";
import type { Evidence, NudgeOutcome } from "../../session/types.ts";
import type { ScreenSource } from "../screen/screen-source.ts";
import type { AgentSigns } from "../state/agent-signs.ts";
import type { NotTyped } from "./not-typed.ts";
import type { Presence, Probe } from "./probe.ts";
import { residueOn } from "./residue.ts";

/**
 * The way of typing into the pane; `internal/tmux/pane/pane.ts` implements it. Every call may fail with `unavailable`
 * while tmux is away.
 */
export interface PaneWriter {
  /** Puts text into a tmux buffer of that name. */
  stage(buffer: string, text: string): Promise<void>;
  bufferExists(buffer: string): Promise<boolean>;
  dropBuffer(buffer: string): Promise<void>;
  /** Pastes the buffer and drops it in one step; where nothing is typed, the buffer stays. */
  paste(buffer: string): Promise<"pasted" | NotTyped>;
  /**
   * Presses one literal carriage return; closes copy mode and the like first. `moved`: the cursor is not at `cursor`;
   * nothing was sent.
   */
  enter(cursor?: Look["cursor"]): Promise<"sent" | NotTyped | "moved">;
  /** Types characters as they are, only while the cursor is at `cursor`. */
  typeAt(text: string, cursor: Look["cursor"]): Promise<"sent" | NotTyped | "moved">;
  /** The number of typed bytes that the program has not read; undefined if unknown. */
  unread(): Promise<number | undefined>;
}

export interface DeliveryDeps {
  readonly clock: Clock;
  readonly writer: PaneWriter;
  readonly source: ScreenSource;
  readonly profile: AgentProfile;
  readonly signs: AgentSigns;
  /** True if the contract treats the two texts as equal. */
  readonly sameText: (a: string, b: string) => boolean;
  /** The residue on the screen of an empty composer, see `residueOn`. */
  readonly residue?: string;
}

export interface DeliveryJob {
  /** Name of the tmux buffer that holds the text until it is pasted. */
  readonly buffer: string;
  /** The safe text, as it is to arrive. */
  readonly text: string;
  /**
   * Called after the text was staged and before the paste: from then on the text may be in front of the agent. If it
   * throws, nothing is pasted.
   */
  readonly onIntent: () => void;
  /** Texts typed before this one, which the agent may hold and report only now. */
  readonly typedBefore?: readonly string[];
}

/**
 * How one attempt ended. `retry`: not one byte was typed and the reason may pass. Times are milliseconds from the
 * start.
 */
export type DeliveryResult = { readonly type: "retry"; readonly reason: string } | DeliveryEnd;

export interface DeliveryEnd {
  readonly type: "done";
  readonly outcome: NudgeOutcome;
  readonly error: string;
  readonly evidence: readonly Evidence[];
  /** Steps as in `NudgeTimings`. */
  readonly pastedMs?: number | undefined;
  readonly typedMs?: number | undefined;
  readonly submittedMs?: number | undefined;
  readonly confirmedMs?: number;
  /** Set if a text was typed and not seen to leave: it may still be in the prompt. */
  readonly stands?: true;
  /** When the text was typed, monotonic ms, if the agent has not drawn or not read it: the agent may hang. */
  readonly undrawnSince?: number | undefined;
  /** The composer when it last showed this text alone; absent if it was seen without the text since. */
  readonly drawn?: string | undefined;
  /** The residue of the text in a composer that it has left; see `residueOn`. */
  readonly residue?: string | undefined;
}

/** One screen's evidence about a text under way. */
export interface Look {
  readonly presence: Presence;
  readonly dialog: boolean;
  readonly busy: boolean;
  readonly cursor: { readonly x: number; readonly y: number };
}

/** The longest pause between two checks of the screen. */
export const LOOK_MS = 10;
/** A text without some of its letters counts as whole when nothing is added for this long. */
const WORN_MS = 150;
export const MIXED = "other text is there too, as when a person types into it; it was not submitted";

/** One attempt at one text: its surroundings and its progress. */
export class Attempt {
  readonly deps: DeliveryDeps;
  readonly job: DeliveryJob;
  readonly signal: AbortSignal;
  readonly #startedAt: number;
  #pastedMs: number | undefined;
  #typedMs: number | undefined;
  #submittedMs: number | undefined;
  #worn: { readonly text: string; readonly at: number } | undefined;
  #drawn: string | undefined;
  #residue: string | undefined;

  constructor(deps: DeliveryDeps, job: DeliveryJob, signal: AbortSignal) {
    this.deps = deps;
    this.job = job;
    this.signal = signal;
    this.#startedAt = deps.clock.monotonicMs();
  }

  /** Records that the text may be in front of the agent from now on. */
  pasted(): void {
    this.#pastedMs = this.elapsed();
  }

  /** Records that all of the text has been seen in the composer. */
  typed(): void {
    this.#typedMs ??= this.elapsed();
  }

  /** Records that Enter was pressed. */
  submitted(): void {
    this.#submittedMs ??= this.elapsed();
  }

  get isSubmitted(): boolean {
    return this.#submittedMs !== undefined;
  }

  /** When Enter was first pressed, monotonic ms; -Infinity if this process has not pressed it. */
  get submittedAt(): number {
    return this.#submittedMs === undefined ? Number.NEGATIVE_INFINITY : this.#startedAt + this.#submittedMs;
  }

  /** When the first byte was typed, monotonic ms; if an earlier process pasted the text, when this attempt began. */
  get pastedAt(): number {
    return this.#startedAt + (this.#pastedMs ?? 0);
  }

  /** True if something was printed after that time. */
  hasDrawnSince(at: number): boolean {
    return this.deps.clock.monotonicMs() - this.deps.source.quietMs() > at;
  }

  /** True if the agent has read the text typed at that time, even if it does not show it. */
  async hasRead(at: number): Promise<boolean> {
    return this.hasDrawnSince(at) || (await this.deps.writer.unread()) === 0;
  }

  elapsed(): number {
    return Math.round(this.deps.clock.monotonicMs() - this.#startedAt);
  }

  async look(probe: Probe): Promise<Look> {
    const screen = await this.deps.source.current(this.signal);
    const view = this.deps.profile.view(screen);
    this.#residue = view.composer === undefined ? undefined : residueOn(screen, view.composer, this.job.text);
    const seen = this.#residue === undefined ? probe.look(screen, view) : "absent";
    const presence = this.#settled(seen, view.composer?.text ?? "");
    if (presence !== "hidden" && presence !== "partial") {
      this.#drawn = presence === "there" ? view.composer?.text : undefined;
    }
    return {
      presence,
      dialog: view.dialog !== undefined,
      busy: view.busy !== undefined,
      cursor: { x: screen.cursorX, y: screen.cursorY },
    };
  }

  /** A missing part may be lost, or may still have to be drawn. */
  #settled(presence: Presence, text: string): Presence {
    if (presence !== "worn") {
      this.#worn = undefined;
      return presence;
    }
    const now = this.deps.clock.monotonicMs();
    if (this.#worn?.text !== text) this.#worn = { text, at: now };
    return now - this.#worn.at >= WORN_MS ? "there" : "partial";
  }

  /** Ends the attempt with a text that was not seen to leave. */
  leave(outcome: NudgeOutcome, error: string, undrawnSince?: number): DeliveryEnd {
    return { ...this.end(outcome, error), stands: true, undrawnSince };
  }

  end(outcome: NudgeOutcome, error: string, evidence: readonly Evidence[] = []): DeliveryEnd {
    const seen: readonly Evidence[] =
      evidence.length > 0 ? evidence : [{ source: "screen", value: error, ageMs: 0, confidence: "strong" }];
    return {
      type: "done",
      outcome,
      error,
      evidence: seen,
      pastedMs: this.#pastedMs,
      typedMs: this.#typedMs,
      submittedMs: this.#submittedMs,
      drawn: this.#drawn,
      residue: this.#residue,
    };
  }
}
