import { type ConnectError, type ContextKey, createContextKey, type HandlerContext } from "@connectrpc/connect";
import { DomainError } from "../../base/errors.ts";
import { connectErrorOf } from "../common/errors.ts";

export interface CallLimits {
  /**
   * The most calls to answer concurrently, including streams; further calls are refused, and cut off beyond twice the
   * number.
   */
  readonly maxCalls: number;
  /** The most of these per caller, so that no caller locks out the others. */
  readonly maxCallsOfOne: number;
  /** The most bytes of all calls' requests together; small requests are accepted beyond that. */
  readonly maxRequestBytes: number;
  /** The most of these per caller. */
  readonly maxRequestBytesOfOne: number;
  /**
   * The most bytes of responses that were written and not yet taken by their callers; small ones are sent beyond that.
   */
  readonly maxAnswerBytes: number;
  /** The most of these per caller. */
  readonly maxAnswerBytesOfOne: number;
}

/** A request up to this size is never refused for its size, */
const SMALL_BYTES = 4096;
/** nor is a response up to this size. */
const SMALL_ANSWER_BYTES = 64 * 1024;

/** A call in progress. */
export interface Call {
  /** The error with which to refuse it; undefined: it is admitted. */
  readonly refusal: DomainError | undefined;
  /** Counts bytes of its request that are in memory. @throws ConnectError `resource_exhausted` */
  hold(bytes: number): void;
  /** Uncounts bytes that were counted by `hold`. */
  release(bytes: number): void;
  /**
   * Sets how many bytes of its response the caller has not taken yet.
   * @throws ConnectError `resource_exhausted`
   */
  answering(bytes: number): void;
  /** To be called when nothing of its request is in memory any more. */
  answered(): void;
  /** To be called when its stream has closed. */
  closed(): void;
}

/** Gates read the call with `context.values.get(callKey)`. */
export const callKey: ContextKey<Call | undefined> = createContextKey<Call | undefined>(undefined, {
  description: "the call among the others of its server",
});

/** True if a response of this size may be refused; a smaller one is only counted. */
export function isLargeAnswer(bytes: number): boolean {
  return bytes > SMALL_ANSWER_BYTES;
}

/**
 * To be called with the size of a response before it is encoded.
 * @throws as `Call.answering`
 */
export function answering(context: HandlerContext, bytes: number): void {
  context.values.get(callKey)?.answering(bytes);
}

/** The resources that the calls of one caller use together. */
interface Share {
  calls: number;
  requestBytes: number;
  answerBytes: number;
}

/** Counts the resources of a server's calls: each occupies memory for as long as its caller likes. */
export class Calls {
  readonly limits: CallLimits;
  readonly all = { calls: 0, requestBytes: 0, answerBytes: 0 };
  readonly #callers = new Map<string, Share>();

  constructor(limits: CallLimits) {
    this.limits = limits;
  }

  /**
   * Counts a new call. `name`: the caller's share. Undefined: cut the call off. A refused caller may stay connected,
   * since the resources of its open streams are bounded, too.
   */
  enter(name: string): Call | undefined {
    const { maxCalls, maxCallsOfOne } = this.limits;
    if (this.all.calls >= 2 * maxCalls) return undefined;
    const caller = this.#callers.get(name) ?? { calls: 0, requestBytes: 0, answerBytes: 0 };
    this.#callers.set(name, caller);
    let refusal: DomainError | undefined;
    if (this.all.calls >= maxCalls) refusal = tooMany("", maxCalls);
    else if (caller.calls >= maxCallsOfOne) refusal = tooMany(" of one caller", maxCallsOfOne);
    this.all.calls++;
    caller.calls++;
    return new CountedCall(this, name, caller, refusal);
  }

  left(name: string, caller: Share): void {
    this.all.calls--;
    if (--caller.calls === 0) this.#callers.delete(name);
  }
}

class CountedCall implements Call {
  readonly refusal: DomainError | undefined;
  readonly #calls: Calls;
  readonly #name: string;
  readonly #caller: Share;
  #requestBytes = 0;
  #answerBytes = 0;

  constructor(calls: Calls, name: string, caller: Share, refusal: DomainError | undefined) {
    this.#calls = calls;
    this.#name = name;
    this.#caller = caller;
    this.refusal = refusal;
  }

  hold(bytes: number): void {
    this.#hold(bytes);
    if (this.#requestBytes <= SMALL_BYTES) return;
    const { maxRequestBytes, maxRequestBytesOfOne } = this.#calls.limits;
    const isTooMuch = this.#calls.all.requestBytes > maxRequestBytes;
    if (!isTooMuch && this.#caller.requestBytes <= maxRequestBytesOfOne) return;
    this.answered(); // a refused request is not kept, and frees its bytes for others
    throw isTooMuch ? tooMuch("sent here", maxRequestBytes) : tooMuch("sent by one caller", maxRequestBytesOfOne);
  }

  release(bytes: number): void {
    this.#hold(-Math.min(bytes, this.#requestBytes));
  }

  answering(bytes: number): void {
    this.#answer(bytes);
    if (!isLargeAnswer(bytes)) return;
    const { maxAnswerBytes, maxAnswerBytesOfOne } = this.#calls.limits;
    const isTooMuch = this.#calls.all.answerBytes > maxAnswerBytes;
    if (!isTooMuch && this.#caller.answerBytes <= maxAnswerBytesOfOne) return;
    this.#answer(0); // a refused response frees its bytes for others
    throw isTooMuch ? tooMuch("asked for", maxAnswerBytes) : tooMuch("requested but not read", maxAnswerBytesOfOne);
  }

  answered(): void {
    this.#hold(-this.#requestBytes);
  }

  closed(): void {
    this.answered(); // nothing more of an aborted request will come
    this.answering(0);
    this.#calls.left(this.#name, this.#caller);
  }

  #answer(bytes: number): void {
    const more = bytes - this.#answerBytes;
    this.#answerBytes = bytes;
    this.#caller.answerBytes += more;
    this.#calls.all.answerBytes += more;
  }

  #hold(bytes: number): void {
    this.#requestBytes += bytes;
    this.#caller.requestBytes += bytes;
    this.#calls.all.requestBytes += bytes;
  }
}

/** A ConnectError, because no code maps other errors where bodies are read and written. */
function tooMuch(what: string, limit: number): ConnectError {
  return connectErrorOf(new DomainError("exhausted", `too much data is ${what} at a time`, { fields: { limit } }));
}

function tooMany(whose: string, limit: number): DomainError {
  return new DomainError("exhausted", `too many calls${whose} at a time: the limit is ${limit}`, { fields: { limit } });
}
