import type { AgentProfile } from "../../agents/profile.ts";
import { comparable } from "../../agents/safe-text.ts";
import type { Clock } from "../../base/clock.ts";
import type { TmuxPane } from "../../tmux/pane/pane.ts";
import type { People } from "../attach/attach-people.ts";
import type { ScreenSource } from "../screen/screen-source.ts";
import type { Monitor } from "../state/monitor.ts";
import { deliver, recoverDelivery } from "./delivery.ts";
import type { AgentSigns, DeliveryDeps, DeliveryResult } from "./delivery-attempt.ts";
import type { Situation } from "./delivery-policy.ts";
import { Leftover } from "./leftover.ts";
import type { Letter } from "./letter.ts";
import { ComposerProbe } from "./probe.ts";

export interface AgentDeliveriesDeps {
  readonly clock: Clock;
  readonly profile: AgentProfile;
  /** Undefined while tmux is away. */
  readonly pane: () => TmuxPane | undefined;
  readonly output: ScreenSource;
  readonly monitor: AgentSigns & Pick<Monitor, "look" | "typing" | "submitted">;
  readonly people: Pick<People, "isTyping">;
  /** An agent that has ended will be started again. */
  readonly restartDue: () => boolean;
}

/** As many messages as an agent holds, and more. */
const TYPED_KEEP = 100;
/** A slow agent may still show a text that it has taken, for so long; and for longer when it is seen to be that text. */
const OLD_DRAWING_MS = 1000;
const SAME_DRAWING_MS = 5000;

/** Brings messages to one agent, and knows what stands in their way. */
export class AgentDeliveries {
  /** Only for a program whose prompt cannot be read. */
  readonly leftover: Leftover | undefined;
  readonly #deps: AgentDeliveriesDeps;
  #typed: readonly string[] = [];
  /** Monotonic ms: when the last message was. */
  #submittedAt = Number.NEGATIVE_INFINITY;
  /** It was idle or worked in this life. */
  #proven = false;

  /** `left`: a text that an earlier process may have left in the agent's prompt. */
  constructor(deps: AgentDeliveriesDeps, left: string | undefined) {
    this.#deps = deps;
    this.leftover = deps.profile.idleProof === "silence" ? new Leftover() : undefined;
    if (left !== undefined) this.leftover?.left(left);
  }

  /** The agent has been started anew. */
  newLife(): void {
    this.leftover?.gone();
    this.#proven = false;
  }

  async situation(signal: AbortSignal): Promise<Situation> {
    const { clock, monitor, output, people, profile, restartDue } = this.#deps;
    const { state, composerSeen, draft } = await monitor.look(signal);
    const quietMs = output.quietMs();
    const sinceMs = clock.monotonicMs() - this.#submittedAt;
    this.#proven ||= state === "idle" || state === "busy";
    return {
      state,
      restartDue: restartDue(),
      composerSeen,
      draft,
      typing: people.isTyping,
      idleIsUnprovable: profile.idleProof === "silence",
      quietMs,
      justSubmitted:
        sinceMs < OLD_DRAWING_MS || (draft && sinceMs < SAME_DRAWING_MS && (await this.#showsLast(signal))),
      unproven: !this.#proven && profile.idleProof === "screen",
      leftover: this.leftover?.stands(await output.current(signal), quietMs) === true,
    };
  }

  async deliver(letter: Letter, onIntent: () => void, signal: AbortSignal): Promise<DeliveryResult> {
    const { clock, monitor, people } = this.#deps;
    const deps = this.#deliveryDeps();
    if (deps === undefined) return { type: "retry", reason: "tmux is away" };
    // A key that was written a moment ago may not be on the screen yet.
    if (people.isTyping) return { type: "retry", reason: "a person is typing" };
    const job = { buffer: bufferOf(letter), text: letter.nudge.text, onIntent, typedBefore: this.#typed };
    this.#typed = [...this.#typed, job.text].slice(-TYPED_KEEP);
    monitor.typing(true);
    try {
      const result = await deliver(deps, job, signal);
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

  /** Judges what an earlier process began. */
  async recover(letter: Letter, signal: AbortSignal): Promise<DeliveryResult> {
    for (;;) {
      const deps = this.#deliveryDeps();
      if (deps !== undefined) {
        return recoverDelivery(deps, { buffer: bufferOf(letter), text: letter.nudge.text, onIntent: () => {} }, signal);
      }
      await this.#deps.clock.sleep(50, signal);
    }
  }

  async #showsLast(signal: AbortSignal): Promise<boolean> {
    const { output, profile } = this.#deps;
    const screen = await output.current(signal);
    return new ComposerProbe(this.#typed.at(-1) ?? "").look(screen, profile.view(screen)) === "there";
  }

  /** The agent has ended, which may not have been noticed yet: what becomes of a message is then for the policy to say. */
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

function bufferOf(letter: Letter): string {
  return `gt-${letter.nudge.requestId}`;
}
