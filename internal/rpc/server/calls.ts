import { type ConnectError, type ContextKey, createContextKey, type HandlerContext } from "@connectrpc/connect";
import { DomainError } from "../../base/errors.ts";
import { connectErrorOf } from "../common/errors.ts";

export interface CallLimits {
  /** Calls that are answered at a time, streams included; more are refused, and beyond twice as many cut off. */
  readonly maxCalls: number;
  /** Of these, how many may be of one caller, so that nobody holds all others out. */
  readonly maxCallsOfOne: number;
  /** What the requests of all calls may have together, bytes; small ones are taken beyond that. */
  readonly maxRequestBytes: number;
  /** What is written of all answers and not yet taken by their callers, bytes; small ones go beyond that. */
  readonly maxAnswerBytes: number;
  /** Of these, how many may be one caller's. */
  readonly maxAnswerBytesOfOne: number;
}

/** A request of no more than this is never refused for its size. */
const SMALL_BYTES = 4096;
/** Nor is an answer of no more than this. */
const SMALL_ANSWER_BYTES = 64 * 1024;

/** One call on its way. */
export interface Call {
  /** Why it is not answered. */
  readonly refusal: DomainError | undefined;
  /** So many bytes of its request are held from now on. @throws ConnectError `resource_exhausted` */
  hold(bytes: number): void;
  /** They are not any more. */
  release(bytes: number): void;
  /**
   * So many bytes of its answer wait to be taken, instead of those before. @throws ConnectError `resource_exhausted`
   */
  answering(bytes: number): void;
  /** Nothing of its request is held any more. */
  answered(): void;
  /** Its stream is closed. */
  closed(): void;
}

/** Where gates find the call: `context.values.get(callKey)`. */
export const callKey: ContextKey<Call | undefined> = createContextKey<Call | undefined>(undefined, {
  description: "the call among the others of its server",
});

/** Whether this many bytes count toward the limit. */
export function isLargeAnswer(bytes: number): boolean {
  return bytes > SMALL_ANSWER_BYTES;
}

/**
 * To be called with the size of what a handler is about to return, before it is encoded. @throws as `Call.answering`
 */
export function answering(context: HandlerContext, bytes: number): void {
  context.values.get(callKey)?.answering(bytes);
}

/** What the calls of one caller, or of all, take together. */
interface Share {
  calls: number;
  answerBytes: number;
}

/** Counts what the calls of a server take from it: each costs memory for as long as its caller likes. */
export class Calls {
  readonly limits: CallLimits;
  readonly all = { calls: 0, requestBytes: 0, answerBytes: 0 };
  readonly #callers = new Map<string, Share>();

  constructor(limits: CallLimits) {
    this.limits = limits;
  }

  /**
   * `name`: the caller's share. Undefined: cut it off. Callers who are refused need not go: what their open streams
   * take is bounded, too.
   */
  enter(name: string): Call | undefined {
    const { maxCalls, maxCallsOfOne } = this.limits;
    if (this.all.calls >= 2 * maxCalls) return undefined;
    const caller = this.#callers.get(name) ?? { calls: 0, answerBytes: 0 };
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
    const { maxRequestBytes } = this.#calls.limits;
    if (this.#calls.all.requestBytes <= maxRequestBytes || this.#requestBytes <= SMALL_BYTES) return;
    throw tooMuch("sent here", maxRequestBytes);
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
    this.#answer(0); // what is refused takes no room from the answers of others
    throw isTooMuch ? tooMuch("asked for", maxAnswerBytes) : tooMuch("requested but not read", maxAnswerBytesOfOne);
  }

  answered(): void {
    this.#hold(-this.#requestBytes);
  }

  closed(): void {
    this.answered(); // a request that was broken off is waited for in vain
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
    this.#calls.all.requestBytes += bytes;
  }
}

/** As it goes over the wire: where bodies are read and written nobody makes an answer of other errors. */
function tooMuch(what: string, limit: number): ConnectError {
  return connectErrorOf(new DomainError("exhausted", `too much data is ${what} at a time`, { fields: { limit } }));
}

function tooMany(whose: string, limit: number): DomainError {
  return new DomainError("exhausted", `too many calls${whose} at a time: the limit is ${limit}`, { fields: { limit } });
}
