import type { AgentEvent } from "../../bridge/provider.ts";

/** Above these limits the source of the events should pause; it may still add the events at hand. */
export interface QueueLimits {
  readonly events: number;
  readonly characters: number;
}

/**
 * Events from an agent to its only reader, in order. Never drops an event: when the queue is full, its owner pauses the
 * agent's output until `onRoom` is called.
 */
export class EventQueue implements AsyncIterable<AgentEvent> {
  readonly #limits: QueueLimits;
  readonly #onRoom: () => void;
  #events: AgentEvent[] = [];
  #next = 0;
  #characters = 0;
  #isClosed = false;
  #isTaken = false;
  #wake: () => void = () => {};

  constructor(limits: QueueLimits, onRoom: () => void) {
    this.#limits = limits;
    this.#onRoom = onRoom;
  }

  get isFull(): boolean {
    return this.#events.length - this.#next >= this.#limits.events || this.#characters >= this.#limits.characters;
  }

  /** Does nothing after `close`. */
  push(event: AgentEvent): void {
    if (this.#isClosed) return;
    this.#events.push(event);
    this.#characters += lengthOf(event);
    this.#wake();
  }

  /** The reader gets the remaining events and then the end. */
  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  /** There is one reader; a second one gets nothing. */
  async *[Symbol.asyncIterator](): AsyncGenerator<AgentEvent, void> {
    if (this.#isTaken) return;
    this.#isTaken = true;
    for (;;) {
      const event = this.#shift();
      if (event !== undefined) yield event;
      else if (this.#isClosed) return;
      else await this.#more();
    }
  }

  #shift(): AgentEvent | undefined {
    const event = this.#events[this.#next];
    if (event === undefined) return undefined;
    const wasFull = this.isFull;
    this.#next++;
    this.#characters -= lengthOf(event);
    if (this.#next === this.#events.length || this.#next > this.#limits.events) {
      this.#events = this.#events.slice(this.#next);
      this.#next = 0;
    }
    if (wasFull && !this.isFull) this.#onRoom();
    return event;
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

function lengthOf(event: AgentEvent): number {
  return event.type === "output" ? event.text.length : 0;
}
