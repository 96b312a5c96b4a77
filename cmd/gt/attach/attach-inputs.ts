import { SignalBus } from "../../../internal/base/signal-bus.ts";
import type { AttachInput } from "../../../internal/session/attach.ts";

/** The limit of unsent input, bytes; more is rejected. */
const WAITING_MAX_BYTES = 1024 * 1024;

/** A person's input on its way to the agent. Supports one reader; ends with `end` or when its signal is aborted. */
export class AttachInputs implements AsyncIterable<AttachInput> {
  readonly #signal: AbortSignal;
  readonly #changed = new SignalBus();
  #waiting: AttachInput[] = [];
  #bytes = 0;
  #isEnded = false;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** False if there is no room: the input is dropped. */
  push(input: AttachInput): boolean {
    if (input.type === "data") {
      if (this.#bytes + input.data.length > WAITING_MAX_BYTES) return false;
      this.#bytes += input.data.length;
    } else {
      this.#waiting = this.#waiting.filter((other) => other.type !== "resize"); // the last size counts
    }
    this.#waiting.push(input);
    this.#changed.notify();
    return true;
  }

  end(): void {
    this.#isEnded = true;
    this.#changed.notify();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AttachInput, void, undefined> {
    while (!this.#signal.aborted) {
      const next = this.#waiting.shift();
      if (next !== undefined) {
        if (next.type === "data") this.#bytes -= next.data.length;
        yield next;
      } else if (this.#isEnded) {
        return;
      } else {
        await this.#changed.next(this.#signal).catch(() => {});
      }
    }
  }
}
