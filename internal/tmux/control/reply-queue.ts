import { DomainError } from "../../base/errors.ts";
import { TmuxUnavailableError } from "../pane/errors.ts";
import type { ControlBlock } from "./control-parser.ts";

/** One request: the text to write, and the handler of the blocks that answer it. */
export interface Request {
  /** Whole lines, each with its LF. */
  readonly text: string;
  /** Takes a block. `done`: the answer is complete; `foreign`: tmux would never send such a block. */
  accept(block: ControlBlock): "more" | "done" | "foreign";
  fail(err: Error): void;
}

export interface ReplyQueueOptions {
  /** The most requests that are written and not yet answered; tmux itself buffers replies without a limit. */
  readonly maxInFlight: number;
  /** The most requests that wait to be written. */
  readonly maxWaiting: number;
}

/**
 * Assigns replies to requests: tmux answers in the order of the commands, so each block with flag 1 goes to the oldest
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

  /** Removes a request that has not been written yet; false if it was written and must stay. */
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

  /** Fails every request that has no answer yet. */
  failAll(reason: string): void {
    for (const request of this.#inFlight.splice(0)) request.fail(new TmuxUnavailableError(reason, true));
    for (const request of this.#waiting.splice(0)) request.fail(new TmuxUnavailableError(reason, false));
  }

  #send(request: Request): void {
    this.#inFlight.push(request);
    this.#write(request.text);
  }
}
