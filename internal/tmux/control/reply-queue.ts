import { DomainError } from "../../base/errors.ts";
import { TmuxUnavailableError } from "../pane/errors.ts";
import type { ControlBlock } from "./control-parser.ts";

/** One request: text to write, and what to do with the blocks that answer it. */
export interface Request {
  /** Whole lines, each with its LF. */
  readonly text: string;
  /** Takes a block: `done` when the answer is complete, `foreign` when it is none that tmux would give. */
  accept(block: ControlBlock): "more" | "done" | "foreign";
  fail(err: Error): void;
}

export interface ReplyQueueOptions {
  /** Requests written and not yet answered; tmux buffers replies without a limit of its own. */
  readonly maxInFlight: number;
  /** Requests that wait for a place among those. */
  readonly maxWaiting: number;
}

/**
 * Who gets which reply: tmux answers in the order of the questions, so each block with flag 1 goes to the oldest
 * request. A request whose caller has given up keeps its place, because its reply still comes. Does no I/O.
 */
export class ReplyQueue {
  readonly #options: ReplyQueueOptions;
  readonly #write: (text: string) => void;
  readonly #inFlight: Request[] = [];
  #waiting: Request[] = [];

  constructor(options: ReplyQueueOptions, write: (text: string) => void) {
    this.#options = options;
    this.#write = write;
  }

  get inFlight(): number {
    return this.#inFlight.length;
  }

  /** @throws DomainError `exhausted` when too many requests wait already. */
  submit(request: Request): void {
    if (this.#inFlight.length < this.#options.maxInFlight) {
      this.#send(request);
    } else if (this.#waiting.length < this.#options.maxWaiting) {
      this.#waiting.push(request);
    } else {
      throw new DomainError("exhausted", `cannot ask tmux: ${this.#options.maxWaiting} commands are already waiting`);
    }
  }

  /** Takes a request that has not been written out of the queue; false when it was written and must stay. */
  withdraw(request: Request): boolean {
    const before = this.#waiting.length;
    this.#waiting = this.#waiting.filter((other) => other !== request);
    return this.#waiting.length < before;
  }

  /** False when the block answers no request: the stream cannot be trusted any more. */
  accept(block: ControlBlock): boolean {
    const oldest = this.#inFlight[0];
    if (!oldest) return false;
    const taken = oldest.accept(block);
    if (taken !== "done") return taken === "more";
    this.#inFlight.shift();
    const next = this.#waiting.shift();
    if (next) this.#send(next);
    return true;
  }

  /** Fails everything that is still owed an answer. */
  failAll(reason: string): void {
    for (const request of this.#inFlight.splice(0)) request.fail(new TmuxUnavailableError(reason, true));
    for (const request of this.#waiting.splice(0)) request.fail(new TmuxUnavailableError(reason, false));
  }

  #send(request: Request): void {
    this.#inFlight.push(request);
    this.#write(request.text);
  }
}
