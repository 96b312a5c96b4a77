import type { WorkMessage } from "../acp/work-message.ts";

/** Work of a held lane while it is being processed. It can be cancelled meanwhile. */
export class OpenTurn {
  readonly work: WorkMessage;
  readonly attempt: number;
  /** True once the agent has been asked. */
  asked = false;
  readonly #cancelled = new AbortController();

  constructor(work: WorkMessage, attempt: number) {
    this.work = work;
    this.attempt = attempt;
  }

  get cancelled(): AbortSignal {
    return this.#cancelled.signal;
  }

  /** Must be called only after the log has recorded the cancellation. */
  cancel(): void {
    this.#cancelled.abort(new Error("the work is cancelled"));
  }
}
