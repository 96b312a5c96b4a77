import type { Clock } from "../../base/clock.ts";
import { DomainError } from "../../base/errors.ts";
import { decideRestart } from "../../process/restart-policy.ts";
import type { ExactJson } from "../acp/json-text.ts";
import { failure } from "../acp/result-parts.ts";
import { AgentLost } from "../lanes/agent-lost.ts";
import type { LaneLink, LinkAnswer, Prompt, SteerOutcome } from "../lanes/link.ts";
import type { AcpLink } from "./acp-link.ts";
import type { ChannelEnd } from "./channel-end.ts";
import type { FrameChannel } from "./frame-channel.ts";
import { Resting } from "./resting.ts";

/** A channel to a process. */
export interface ChildChannel extends FrameChannel {
  /** Resolves when no process of the child is running. */
  readonly gone: Promise<void>;
}

export interface StdioLinkDeps {
  readonly clock: Clock;
  /** Starts the agent. @throws DomainError if it cannot be started */
  readonly start: () => Promise<ChildChannel>;
  /** Makes the link over one child. */
  readonly linkOver: (channel: ChildChannel) => AcpLink;
  readonly onStarted: () => void;
  readonly onEnded: (end: ChannelEnd, livedMs: number) => void;
  /** Called when the agent has ended soon after its start several times in a row. */
  readonly onCrashLoop: (ends: number, end: ChannelEnd) => void;
}

export interface StdioLinkOptions {
  readonly agentId: string;
  readonly connectionId: string;
  /** The link ends the agent and gives up the lane after this long without work. */
  readonly restMs: number;
}

interface Child {
  readonly link: AcpLink;
  readonly channel: ChildChannel;
  readonly beganMs: number;
}

/**
 * An ACP agent as a child of the relay: started for the first work, and restarted with back-off for work that comes
 * after its end. If the agent cannot be started, the work fails with `agent_lost`.
 */
export class StdioLink implements LaneLink {
  readonly dialect = "acp";
  readonly kind = "stdio";
  readonly #deps: StdioLinkDeps;
  readonly #options: StdioLinkOptions;
  readonly #gone = new AbortController();
  readonly #children = new Set<Promise<void>>();
  #child: Child | undefined;
  #quickEnds = 0;
  #isCrashLoop = false;
  #notBeforeMs = 0;
  #why = "";
  readonly #resting: Resting;

  constructor(deps: StdioLinkDeps, options: StdioLinkOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#resting = new Resting(deps.clock, options.restMs, () => this.close(1000, "no work"));
  }

  get agentId(): string {
    return this.#options.agentId;
  }

  get connectionId(): string {
    return this.#options.connectionId;
  }

  get agentSession(): string | undefined {
    return this.#child?.link.agentSession;
  }

  get lastFrameMs(): number {
    return this.#child?.link.lastFrameMs ?? 0;
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Monotonic ms when the last work ended; undefined: the link has work. */
  get restingSinceMs(): number | undefined {
    return this.#resting.sinceMs;
  }

  /** Resolves when no process of its children is running. */
  async ended(): Promise<void> {
    while (this.#children.size > 0) await Promise.all(this.#children);
  }

  established(): void {
    this.#rest();
  }

  close(code: number, reason: string): void {
    this.#resting.end();
    this.#gone.abort(new AgentLost(reason));
    this.#child?.channel.close(code, reason);
  }

  async prepare(prompt: Prompt, signal: AbortSignal): Promise<LinkAnswer | undefined> {
    this.#resting.end();
    let isReady = false;
    try {
      const early = await this.#prepare(prompt, AbortSignal.any([signal, this.#gone.signal]));
      isReady = early === undefined;
      return early;
    } finally {
      if (!isReady) this.#rest();
    }
  }

  async ask(prompt: Prompt, signal: AbortSignal): Promise<LinkAnswer> {
    try {
      if (this.#child === undefined) throw new AgentLost(this.#why);
      return await this.#child.link.ask(prompt, signal);
    } finally {
      this.#rest();
    }
  }

  cancel(): void {
    this.#child?.link.cancel();
  }

  async steer(prompt: readonly ExactJson[], signal: AbortSignal): Promise<SteerOutcome> {
    return (await this.#child?.link.steer(prompt, signal)) ?? "idle";
  }

  async #prepare(prompt: Prompt, signal: AbortSignal): Promise<LinkAnswer | undefined> {
    for (;;) {
      signal.throwIfAborted();
      try {
        const { link } = this.#child ?? (await this.#start(signal));
        return await link.prepare(prompt, signal);
      } catch (err) {
        if (signal.aborted || !(err instanceof DomainError)) throw err;
        if (!(err instanceof AgentLost)) return lost(err.message);
        if (this.#isCrashLoop) return lost(`crash loop: ${this.#why}, ${this.#quickEnds} times in a row`);
      }
    }
  }

  async #start(signal: AbortSignal): Promise<Child> {
    const { clock, start, linkOver, onStarted } = this.#deps;
    const waitMs = this.#notBeforeMs - clock.monotonicMs();
    if (waitMs > 0) await clock.sleep(waitMs, signal);
    const channel = await start();
    const child = { link: linkOver(channel), channel, beganMs: clock.monotonicMs() };
    const gone = channel.gone.finally(() => this.#children.delete(gone));
    this.#children.add(gone);
    this.#child = child;
    onStarted();
    const onEnd = () => this.#lost(child);
    if (channel.ended.aborted) onEnd();
    else channel.ended.addEventListener("abort", onEnd, { once: true });
    if (this.#gone.signal.aborted) channel.close(1001, "the lane is given up");
    return child;
  }

  #lost({ channel, beganMs }: Child): void {
    const { clock, onEnded, onCrashLoop } = this.#deps;
    const end = channel.ended.reason as ChannelEnd;
    const livedMs = clock.monotonicMs() - beganMs;
    this.#child = undefined;
    this.#why = end.why;
    onEnded(end, livedMs);
    const decision = decideRestart("always", { exit: { code: 1 }, livedMs, quickEnds: this.#quickEnds });
    if (decision.type !== "restart" || this.#gone.signal.aborted) return;
    this.#quickEnds = decision.quickEnds;
    this.#notBeforeMs = clock.monotonicMs() + decision.delayMs;
    this.#isCrashLoop = decision.crashLoop;
    if (decision.crashLoop) onCrashLoop(decision.quickEnds, end);
  }

  #rest(): void {
    if (!this.#gone.signal.aborted) this.#resting.begin();
  }
}

function lost(error: string): LinkAnswer {
  return { parts: [failure("agent_lost", error)], exchange: undefined };
}
