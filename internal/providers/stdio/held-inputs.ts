import { DomainError } from "../../base/errors.ts";
import type { AgentInput } from "../../bridge/provider.ts";

/** As many as the mailbox of an agent in a terminal holds. */
const MAX_HELD = 50;

/** Messages that wait for the end of a turn, for agents that take one at a time. */
export class HeldInputs {
  #inputs: AgentInput[] = [];

  /** @throws DomainError `exhausted` when too many wait */
  add(input: AgentInput): void {
    if (this.#inputs.length >= MAX_HELD) {
      throw new DomainError("exhausted", `${MAX_HELD} messages are already waiting for the agent`, {
        fields: { limit: MAX_HELD },
      });
    }
    this.#inputs.push(input);
  }

  get isEmpty(): boolean {
    return this.#inputs.length === 0;
  }

  shift(): AgentInput | undefined {
    return this.#inputs.shift();
  }

  /** Removes and returns all messages that wait. */
  drain(): readonly AgentInput[] {
    const inputs = this.#inputs;
    this.#inputs = [];
    return inputs;
  }
}
