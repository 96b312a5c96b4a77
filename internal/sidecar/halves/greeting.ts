import { SignalBus } from "../../base/signal-bus.ts";
import type { ControlHello } from "./halves-link-messages.ts";

/** The first message on each connection of the halves' link, sent again when more is known (`changes`). */
export class Greeting {
  readonly changes = new SignalBus();
  #hello: ControlHello;
  #asked = false;

  constructor(hello: ControlHello) {
    this.#hello = hello;
  }

  get hello(): ControlHello {
    return this.#hello;
  }

  /**
   * Adds the agent program's version once `ask` knows it. Only the first call asks; a failure leaves the version out.
   */
  async learnAgent(ask: () => Promise<string | undefined>): Promise<void> {
    if (this.#asked) return;
    this.#asked = true;
    const agent = await ask().catch(() => undefined);
    if (agent === undefined) return;
    this.#hello = { ...this.#hello, agent };
    this.changes.notify();
  }
}
