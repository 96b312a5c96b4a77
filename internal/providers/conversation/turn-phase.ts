import type { AgentLink } from "./conversation.ts";

/** Tracks whether an agent is working, and reports each change once. An agent that was opened is idle. */
export class TurnPhase {
  readonly #link: AgentLink;
  #isBusy = false;

  constructor(link: AgentLink) {
    this.#link = link;
  }

  get isBusy(): boolean {
    return this.#isBusy;
  }

  busy(): void {
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.#link.emit({ type: "phase", state: "busy" });
  }

  /** `hasFailed`: the turn ended without an answer. */
  idle(hasFailed: boolean): void {
    if (!this.#isBusy) return;
    this.#isBusy = false;
    this.#link.emit({ type: "phase", state: "idle", hasFailed: hasFailed || undefined });
  }
}
