import type { WorkMessage } from "../acp/work-message.ts";

/** Work of a held lane from the moment it is looked at until it is settled. Others may cancel it meanwhile. */
export class OpenTurn {
  readonly work: WorkMessage;
  readonly attempt: number;
  /** True while the agent has it. */
  asked = false;
  readonly #cancelled = new AbortController();

  constructor(work: WorkMessage, attempt: number) {
    this.work = work;
    this.attempt = attempt;
  }

  get cancelled(): AbortSignal {
    return this.#cancelled.signal;
  }

  /** After the log says so. */
  cancel(): void {
    this.#cancelled.abort(new Error("the work is cancelled"));
  }
}
