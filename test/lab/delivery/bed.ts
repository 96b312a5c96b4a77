import { setTimeout as sleep } from "node:timers/promises";
import { AgentState } from "../../../internal/gen/gastown/v1/common_pb.ts";
import { type RunningSidecar, until } from "../../support/sidecar/sidecar.ts";
import { Hands } from "../hands.ts";
import type { Receiver } from "./receiver.ts";

/** Long, for machines with other work: OpenCode takes 10 s of a core to start. */
const CALM_MS = 300_000;

export interface BedParts {
  readonly sidecar: RunningSidecar;
  readonly receiver: Receiver;
  /** Ends everything that belongs to the bed. */
  readonly owner: AsyncDisposable;
  /** The sidecar can detect whether this program is idle, and read its composer. */
  readonly provesIdle: boolean;
  /** A message that keeps the agent busy for a moment. */
  readonly busyText: string;
  /** Makes the fake model slow. */
  readonly slow?: (isSlow: boolean) => void;
  /** Makes the fake model refuse for a rate limit. */
  readonly limit?: (isLimited: boolean) => void;
  /** The maximum time after the agent has become idle until a message is in the receiver's log. */
  readonly quietMs: number;
}

/**
 * One program under its own sidecar, with a person's hands on its terminal, and its own record of received messages.
 */
export class Bed implements AsyncDisposable {
  readonly sidecar: RunningSidecar;
  readonly hands: Hands;
  readonly receiver: Receiver;
  readonly provesIdle: boolean;
  readonly busyText: string;
  readonly slow: (isSlow: boolean) => void;
  readonly limit: (isLimited: boolean) => void;
  readonly #owner: AsyncDisposable;
  readonly #quietMs: number;

  constructor(parts: BedParts) {
    this.sidecar = parts.sidecar;
    this.hands = new Hands(parts.sidecar);
    this.receiver = parts.receiver;
    this.provesIdle = parts.provesIdle;
    this.busyText = parts.busyText;
    this.slow = parts.slow ?? (() => {});
    this.limit = parts.limit ?? (() => {});
    this.#owner = parts.owner;
    this.#quietMs = parts.quietMs;
  }

  async status() {
    return await this.sidecar.client.status({}, { timeoutMs: 5000 });
  }

  /** Makes the agent draw its whole screen. */
  async redraw(): Promise<void> {
    const { cols } = await this.status();
    for (const width of [cols - 1, cols]) {
      await this.hands.resize(width);
      await sleep(500);
    }
  }

  /** A person's message: typed, seen, submitted. */
  async say(text: string): Promise<void> {
    await this.hands.type(text);
    await sleep(text.startsWith("/") ? 900 : 500);
    await this.submit(text);
  }

  /** Presses Enter as often as a person would until the text has left: it was taken, or led to a command or dialog. */
  async submit(text: string): Promise<void> {
    const before = (await this.receiver.received()).length;
    for (let tries = 0; tries < 3; tries++) {
      await this.hands.keys("Enter");
      for (let i = 0; i < 20; i++) {
        if ((await this.receiver.received()).length > before) return;
        const { state, draft } = await this.status();
        if (state === AgentState.DIALOG || (!draft && i > 3 && text.startsWith("/"))) return;
        await sleep(50);
      }
    }
  }

  /** Waits for an idle agent with an empty composer and no pending messages; closes or clears anything in its way. */
  async calm(signal: AbortSignal, limitMs = CALM_MS): Promise<void> {
    let calm = 0;
    let acted = performance.now();
    await until("a calm agent", limitMs, async () => {
      signal.throwIfAborted();
      const { state, draft } = await this.status();
      const isCalm = this.provesIdle ? state === AgentState.IDLE && !draft : state === AgentState.UNCERTAIN;
      calm = isCalm ? calm + 1 : 0;
      if (calm >= 3) return true;
      if (performance.now() - acted < 1500) return undefined;
      acted = performance.now();
      if (state === AgentState.DIALOG) await this.hands.keys("Escape");
      else if (draft) await this.hands.clear();
      return undefined;
    });
    await this.quiet();
  }

  /** Waits until the receiver's log is unchanged for a moment. */
  async quiet(): Promise<readonly string[]> {
    let seen = await this.receiver.received();
    for (let since = performance.now(); performance.now() - since < this.#quietMs; await sleep(20)) {
      const now = await this.receiver.received();
      if (now.length !== seen.length) since = performance.now();
      seen = now;
    }
    return seen;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owner[Symbol.asyncDispose]();
  }
}
