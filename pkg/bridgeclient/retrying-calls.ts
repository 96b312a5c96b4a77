import type {
  DescMessage,
  DescMethodStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import type { Clock } from "../../internal/base/clock.ts";
import { BridgeError, bridgeErrorOf, clientClosed } from "./errors.ts";
import type { Links } from "./links.ts";
import { type CallOptions, checkTimeout } from "./options.ts";
import { type RetryRules, retryWaitMs } from "./retry.ts";

export interface CallsDeps {
  readonly clock: Clock;
  readonly links: Links;
  readonly random: () => number;
  /** Aborted when the client is closed. */
  readonly closed: AbortSignal;
}

/** How to call an RPC. */
export interface UnaryRules {
  /** Deadline if the caller sets none, ms. */
  readonly timeoutMs: number;
  /** True if the RPC is idempotent: then calls are retried after a transient failure. */
  readonly repeatable: boolean;
}

/** Calls on any open connection, with deadlines and retries. Failures are BridgeErrors. */
export class RetryingCalls {
  readonly #deps: CallsDeps;
  readonly #retry: RetryRules;

  constructor(deps: CallsDeps, retry: RetryRules) {
    this.#deps = deps;
    this.#retry = retry;
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    rules: UnaryRules,
    { signal, timeoutMs = rules.timeoutMs }: CallOptions = {},
  ): Promise<MessageShape<O>> {
    const { clock, links, random } = this.#deps;
    checkTimeout("timeoutMs", timeoutMs);
    let isFresh = false;
    const end = clock.monotonicMs() + timeoutMs;
    const either = this.#orClosed(signal);
    for (let failures = 1; ; failures++) {
      const leftMs = Math.max(1, Math.ceil(end - clock.monotonicMs()));
      const link = links.forCall();
      const release = link.hold("call");
      try {
        return (await link.transport.unary(method, either, leftMs, undefined, request)).message;
      } catch (err) {
        const error = this.#failure(err, signal);
        if (isAboutTimes(error) && !isFresh) {
          isFresh = true; // refused because of its token: the next token uses the bridge's clock
          failures--;
          continue;
        }
        const waitMs = retryWaitMs(error, { failures, leftMs: end - clock.monotonicMs() }, this.#retry, random);
        if (!rules.repeatable || waitMs === undefined) throw error;
        release();
        await clock.sleep(waitMs, either).catch((reason: unknown) => {
          throw this.#failure(reason, signal);
        });
      } finally {
        release();
      }
    }
  }

  /** A stream of responses without a deadline; leaving the loop over it cancels the call. */
  async *stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    requests: AsyncIterable<MessageInitShape<I>>,
    signal?: AbortSignal,
  ): AsyncGenerator<MessageShape<O>, void, undefined> {
    const left = new AbortController();
    const any = AbortSignal.any([this.#orClosed(signal), left.signal]);
    const link = this.#deps.links.forStream();
    const release = link.hold("stream");
    try {
      yield* (await link.transport.stream(method, any, undefined, undefined, requests)).message;
    } catch (err) {
      throw this.#failure(err, signal);
    } finally {
      left.abort(); // leaving the loop over a Connect stream does not end the call; only its signal does
      release();
    }
  }

  #orClosed(signal: AbortSignal | undefined): AbortSignal {
    return signal ? AbortSignal.any([signal, this.#deps.closed]) : this.#deps.closed;
  }

  /** @throws the reason of the caller's signal if that ended the call */
  #failure(err: unknown, signal: AbortSignal | undefined): BridgeError {
    if (signal?.aborted) throw signal.reason;
    if (this.#deps.closed.aborted) return clientClosed();
    const error = bridgeErrorOf(err);
    const { difference } = this.#deps.links.server;
    if (!isAboutTimes(error) || difference === "") return error;
    const { code, message, reason, fields, fromServer } = error;
    return new BridgeError(code, `${message}: ${difference}`, { reason, fields, fromServer, cause: err });
  }
}

/** Whether the bridge refused the token as expired or not yet valid, by the bridge's clock. */
function isAboutTimes({ code, fields }: BridgeError): boolean {
  return code === "unauthenticated" && (fields["token"] === "expired" || fields["token"] === "early");
}

/** The request stream of an RPC with a single request. */
export async function* once<T>(request: T): AsyncGenerator<T, void, undefined> {
  yield request;
}
