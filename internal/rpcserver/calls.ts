import { type ContextKey, createContextKey } from "@connectrpc/connect";
import { DomainError } from "../base/errors.ts";
import { connectErrorOf } from "./errors.ts";
import type { Peer } from "./peer.ts";

export interface CallLimits {
  /** Calls that are answered at a time, streams included; more are told so, and beyond twice as many cut off. */
  readonly maxCalls: number;
  /** Of these, how many may be of one caller, so that nobody holds all others out. */
  readonly maxCallsOfOne: number;
  /** What the requests of all calls may have together, bytes; small ones are taken beyond that. */
  readonly maxRequestBytes: number;
}

/** A request of no more than this is never refused for its size. */
const SMALL_BYTES = 4096;

/** One call on its way. */
export interface Call {
  /** Why it is not answered. */
  readonly refusal: DomainError | undefined;
  /** So many bytes of its request are held from now on. @throws ConnectError `resource_exhausted` */
  hold(bytes: number): void;
  /** They are not any more. */
  release(bytes: number): void;
  /** Nothing of its request is held any more. */
  answered(): void;
  /** Its stream is closed. */
  closed(): void;
}

/** Where gates find the call: `context.values.get(callKey)`. */
export const callKey: ContextKey<Call | undefined> = createContextKey<Call | undefined>(undefined, {
  description: "the call among the others of its server",
});

/** Counts what the calls of a server take from it: each costs memory for as long as its caller likes. */
export class Calls {
  readonly #limits: CallLimits;
  readonly #byCaller = new Map<string, number>();
  #count = 0;
  #requestBytes = 0;

  constructor(limits: CallLimits) {
    this.#limits = limits;
  }

  /** Undefined: cut it off. Callers who are refused need not go: what their open streams take is bounded, too. */
  enter(peer: Peer): Call | undefined {
    const { maxCalls, maxCallsOfOne, maxRequestBytes } = this.#limits;
    if (this.#count >= 2 * maxCalls) return undefined;
    const caller = callerOf(peer);
    const own = this.#byCaller.get(caller) ?? 0;
    const refusal =
      this.#count >= maxCalls
        ? tooMany("", maxCalls)
        : own >= maxCallsOfOne
          ? tooMany(" of one caller", maxCallsOfOne)
          : undefined;
    this.#count++;
    this.#byCaller.set(caller, own + 1);
    let held = 0;
    const change = (bytes: number) => {
      held += bytes;
      this.#requestBytes += bytes;
    };
    return {
      refusal,
      hold: (bytes) => {
        change(bytes);
        if (this.#requestBytes <= maxRequestBytes || held <= SMALL_BYTES) return;
        const fields = { limit: maxRequestBytes };
        // Where a body is read nobody makes an answer of other errors.
        throw connectErrorOf(new DomainError("exhausted", "too much is sent here at a time", { fields }));
      },
      release: (bytes) => change(-Math.min(bytes, held)),
      answered: () => change(-held),
      closed: () => {
        change(-held); // a request that was broken off is waited for in vain
        this.#leave(caller);
      },
    };
  }

  #leave(caller: string): void {
    this.#count--;
    const left = (this.#byCaller.get(caller) ?? 1) - 1;
    if (left === 0) this.#byCaller.delete(caller);
    else this.#byCaller.set(caller, left);
  }
}

function tooMany(whose: string, limit: number): DomainError {
  return new DomainError("exhausted", `too many calls${whose} at a time: ${limit} are answered`, { fields: { limit } });
}

/** By certificate where there is one, else by address. */
function callerOf(peer: Peer): string {
  if (peer.type === "certificate") return peer.uris[0] ?? peer.serial;
  return peer.address.slice(0, peer.address.lastIndexOf(":"));
}
