import type { AgentProfile } from "../../agents/profile.ts";
import { comparable } from "../../agents/safe-text.ts";
import type { Clock } from "../../base/clock.ts";
import { type ScreenSource, waitForQuiet } from "../screen/screen-source.ts";
import type { AgentSigns } from "../state/agent-signs.ts";
import type { ReportedSigns } from "../state/reported-signs.ts";
import type { StateMonitor } from "../state/state-monitor.ts";
import { clearOwnText } from "./clear-composer.ts";
import type { Courier } from "./courier.ts";
import { deliver, recoverDelivery } from "./delivery.ts";
import { type DeliveryDeps, type DeliveryResult, MIXED, type PaneWriter } from "./delivery-attempt.ts";
import { isAtTheKeys, type Situation } from "./delivery-policy.ts";
import { ComposerProbe } from "./probe.ts";
import type { TrackedNudge } from "./tracked-nudge.ts";
import { type LeftText, UnconfirmedText } from "./unconfirmed-text.ts";
import type { UnsubmittedTexts } from "./unsubmitted-texts.ts";

/** The part of the agent's pane that a delivery needs; `internal/tmux/pane/pane.ts` implements it. */
interface AgentPane extends PaneWriter {
  /** Fails with `unavailable` while tmux is away. */
  facts(): Promise<{ readonly dead: boolean }>;
}

/** The people who may type into the pane. */
interface TypingPeople {
  /** One of them is typing. */
  readonly isTyping: boolean;
  /** When one of them typed last; undefined: never. */
  readonly inputAt: { readonly monotonicMs: number } | undefined;
  /** Updates `inputAt`; absent if that is always up to date. */
  look?(): Promise<void>;
}

export interface AgentDeliveriesDeps {
  readonly clock: Clock;
  readonly profile: AgentProfile;
  /** Undefined while tmux is away. */
  readonly pane: () => AgentPane | undefined;
  readonly output: ScreenSource;
  readonly monitor: AgentSigns &
    Pick<StateMonitor, "look" | "typing" | "submitted"> & { readonly signs: Pick<ReportedSigns, "typedInto"> };
  readonly people: TypingPeople;
  readonly standing: UnsubmittedTexts;
  /** True if an agent that has ended will be started again. */
  readonly restartDue: () => boolean;
}

/** Whether the agent has drawn the text that was typed last. Times: monotonic ms. */
type Drawing =
  | { readonly type: "drawn" }
  /** Not drawn, or not read. */
  | { readonly type: "undrawn"; readonly since: number }
  /** Drawn a moment ago after a hang: the agent may still be drawing. */
  | { readonly type: "thawing"; readonly since: number };

/** How many typed texts are remembered: more than an agent holds. */
const TYPED_KEEP = 100;
/**
 * How long a slow agent may still show a text that it has taken: OLD_DRAWING_MS, or SAME_DRAWING_MS if the composer
 * shows that text.
 */
const OLD_DRAWING_MS = 1000;
const SAME_DRAWING_MS = 5000;
/**
 * Removal of a text waits until the output is quiet for CALM_MS, at most CALM_CAP_MS; it is abandoned after
 * MOST_CLEARINGS attempts.
 */
const CALM_MS = 150;
const CALM_CAP_MS = 1000;
const MOST_CLEARINGS = 3;
/** After a hang, wait this long for the agent to draw the typed text; up to THAW_MOST_MS while it prints. */
const THAW_MS = 1000;
const THAW_MOST_MS = 5000;

/** Delivers texts to one agent, and determines what prevents a delivery. */
export class AgentDeliveries implements Courier {
  /** Our text that may still be in the prompt; defined only for a program whose prompt cannot be read. */
  readonly leftover: UnconfirmedText | undefined;
  readonly #deps: AgentDeliveriesDeps;
  #typed: readonly string[] = [];
  /** When the last message was submitted; monotonic ms. */
  #submittedAt = Number.NEGATIVE_INFINITY;
  #drawing: Drawing = { type: "drawn" };
  #clearings = 0;
  /** True once the agent has been seen idle or working in this life. */
  #proven = false;

  /** `left`: texts that an earlier process may have left in the agent's prompt. */
  constructor(deps: AgentDeliveriesDeps, left: readonly LeftText[]) {
    this.#deps = deps;
    this.leftover = deps.profile.idleProof === "silence" ? new UnconfirmedText() : undefined;
    const last = left.at(-1);
    if (last === undefined) return;
    this.leftover?.left(last.text);
    if (this.leftover === undefined) this.#hangsSince(deps.clock.monotonicMs() - (deps.clock.now() - last.at));
  }

  /** Resets what is known about the composer and the agent. Call it when the agent has been started again. */
  newLife(): void {
    this.leftover?.gone();
    this.#deps.standing.gone();
    this.#hangsSince(undefined);
    this.#proven = false;
  }

  async situation(signal: AbortSignal): Promise<Situation> {
    const { clock, monitor, output, profile, restartDue } = this.#deps;
    const undrawn = await this.#isUndrawn();
    const { state: judged, isHeld, composerSeen, draft } = await monitor.look(signal);
    // A state from before a resize is good enough for a reader, not for typing onto a screen that is being repainted.
    const state = isHeld ? "uncertain" : judged;
    const quietMs = output.quietMs();
    const sinceMs = clock.monotonicMs() - this.#submittedAt;
    this.#proven ||= state === "idle" || state === "busy";
    const isOld = sinceMs < SAME_DRAWING_MS && (await this.#showsLast(signal));
    return {
      state,
      restartDue: restartDue(),
      composerSeen,
      draft: draft || isOld,
      ...this.#atTheKeys(),
      idleUnprovable: profile.idleProof === "silence",
      quietMs,
      justSubmitted: sinceMs < OLD_DRAWING_MS || isOld,
      unproven: !this.#proven && profile.idleProof === "screen",
      undrawn,
      leftover: this.leftover?.stands(await output.current(signal), quietMs) === true,
    };
  }

  async deliver(tracked: TrackedNudge, onIntent: () => void, signal: AbortSignal): Promise<DeliveryResult> {
    const { clock, monitor, people } = this.#deps;
    const deps = this.#deliveryDeps();
    if (deps === undefined) return { type: "retry", reason: "tmux is away" };
    // A key that was written a moment ago may not be on the screen yet.
    await people.look?.();
    if (isAtTheKeys(tracked.nudge, this.#atTheKeys())) return { type: "retry", reason: "a person is typing" };
    monitor.typing(true);
    try {
      if (!(await this.#makeRoom(deps, signal)))
        return { type: "retry", reason: "an earlier text could not be cleared" };
      const intend = () => {
        onIntent();
        monitor.signs.typedInto(clock.monotonicMs());
      };
      const job = { buffer: bufferOf(tracked), text: tracked.nudge.text, onIntent: intend, typedBefore: this.#typed };
      this.#typed = [...this.#typed, job.text].slice(-TYPED_KEEP);
      const result = await deliver({ ...deps, residue: this.#deps.standing.residue }, job, signal);
      this.#note(result, job.text);
      if (await this.#tookOutBoth(result, deps, signal)) {
        return {
          type: "retry",
          reason: "an earlier text of ours appeared only now, together with this one; both were removed",
        };
      }
      if (result.type === "done" && result.outcome === "submitted") {
        monitor.submitted();
        this.#submittedAt = clock.monotonicMs();
      }
      if (result.type === "done" && result.outcome === "agent-dead" && (await this.#isAboutToRestart())) {
        return { type: "retry", reason: "the agent has ended; a restart is due" };
      }
      return result;
    } finally {
      monitor.typing(false);
    }
  }

  #atTheKeys(): Pick<Situation, "typing" | "personQuietMs"> {
    const { clock, people } = this.#deps;
    const { inputAt, isTyping: typing } = people;
    return { typing, personQuietMs: inputAt && clock.monotonicMs() - inputAt.monotonicMs };
  }

  /** Judges an attempt that an earlier process began. */
  async recover(tracked: TrackedNudge, signal: AbortSignal): Promise<DeliveryResult> {
    for (;;) {
      const deps = this.#deliveryDeps();
      if (deps !== undefined) {
        const { text, acceptedAt } = tracked.nudge;
        const job = { buffer: bufferOf(tracked), text, onIntent: () => {} };
        // The agent's output since then is unknown, so it may hang.
        if (this.leftover === undefined) {
          this.#hangsSince(this.#deps.clock.monotonicMs() - (this.#deps.clock.now() - acceptedAt));
        }
        const result = await recoverDelivery(deps, job, signal);
        this.#note(result, job.text);
        return result;
      }
      await this.#deps.clock.sleep(50, signal);
    }
  }

  /** Records what an attempt left in the composer, and whether the agent may hang. */
  #note(result: DeliveryResult, text: string): void {
    if (result.type === "retry") {
      this.#hangsSince(undefined);
      return;
    }
    const { standing } = this.#deps;
    standing.noteResidue(result.residue);
    if (result.stands === true || result.drawn !== undefined) standing.left(text, result.drawn);
    this.#hangsSince(this.leftover === undefined ? result.undrawnSince : undefined);
  }

  #hangsSince(at: number | undefined): void {
    this.#drawing = at === undefined ? { type: "drawn" } : { type: "undrawn", since: at };
    this.#deps.standing.undrawn(at);
    this.#deps.monitor.signs.typedInto(at);
  }

  /** True if the text typed last has not been drawn, or was drawn only a moment ago. */
  async #isUndrawn(): Promise<boolean> {
    const { clock, output, pane } = this.#deps;
    const now = clock.monotonicMs();
    const drawing = this.#drawing;
    if (drawing.type === "drawn") return false;
    if (drawing.type === "thawing") {
      const sinceMs = now - drawing.since;
      if (sinceMs < THAW_MS || (sinceMs < THAW_MOST_MS && output.quietMs() < THAW_MS)) return true;
      this.#drawing = { type: "drawn" };
      return false;
    }
    if (now - output.quietMs() <= drawing.since) return true;
    if (((await pane()?.unread()) ?? 0) > 0) return true;
    this.#drawing = { type: "thawing", since: now };
    this.#deps.monitor.signs.typedInto(undefined);
    return true;
  }

  /**
   * Removes the rest of our earlier texts from the composer. A text that cannot be removed in MOST_CLEARINGS attempts
   * counts as a person's draft.
   */
  async #makeRoom(deps: DeliveryDeps, signal: AbortSignal): Promise<boolean> {
    const { standing, profile, output } = this.#deps;
    const { composer } = profile.view(await output.current(signal));
    if (composer === undefined || standing.isEmpty(composer) || !standing.knows(composer)) return true;
    await waitForQuiet(output, CALM_MS, CALM_CAP_MS, deps.clock, signal);
    const clearing = await clearOwnText({ ...deps, standing }, signal);
    if (clearing.type === "hangs") {
      this.#hangsSince(clearing.since);
      return false;
    }
    const isCleared = clearing.type === "cleared";
    this.#clearings = isCleared ? 0 : this.#clearings + 1;
    if (this.#clearings === MOST_CLEARINGS) {
      this.#clearings = 0;
      standing.gone();
    }
    return isCleared;
  }

  /**
   * Removes this text and an earlier one in front of it that appeared only after this one had been typed. Does so only
   * if the composer holds nothing but our texts and this one was not submitted. True if both are removed.
   */
  async #tookOutBoth(result: DeliveryResult, deps: DeliveryDeps, signal: AbortSignal): Promise<boolean> {
    if (result.type !== "done" || result.error !== MIXED || result.submittedMs !== undefined) return false;
    const { standing, profile, output, people } = this.#deps;
    const { composer } = profile.view(await output.current(signal));
    if (people.isTyping || composer === undefined || !standing.knows(composer)) return false;
    return await this.#makeRoom(deps, signal);
  }

  async #showsLast(signal: AbortSignal): Promise<boolean> {
    const { output, profile } = this.#deps;
    const screen = await output.current(signal);
    return new ComposerProbe(this.#typed.at(-1) ?? "").look(screen, profile.view(screen)) === "there";
  }

  /** True if a restart is due and the agent is not known to be alive. The policy then decides about a message. */
  async #isAboutToRestart(): Promise<boolean> {
    const { pane, restartDue } = this.#deps;
    const facts = await pane()
      ?.facts()
      .catch(() => undefined);
    return restartDue() && facts?.dead !== false;
  }

  #deliveryDeps(): DeliveryDeps | undefined {
    const { clock, profile, pane, output, monitor } = this.#deps;
    const writer = pane();
    if (writer === undefined) return undefined;
    const sameText = (a: string, b: string) => comparable(a) === comparable(b);
    return { clock, profile, sameText, writer, source: output, signs: monitor };
  }
}

function bufferOf(tracked: TrackedNudge): string {
  return `gt-${tracked.nudge.requestId}`;
}
