import { DecoratorHandler, type Dispatcher } from "undici";
import { aborted } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import { DomainError } from "../base/errors.ts";
import { asText, objectOf } from "../base/json-fields.ts";
import { leadingText, wholeText } from "./answer-text.ts";
import { type ConnectionsDeps, KubeConnections, type Lane } from "./connections.ts";
import type { KubeApi, KubeRequest } from "./kube-api.ts";
import { isFault, KubeApiError, KubeUnreachableError, statusAnswer } from "./kube-errors.ts";
import { readList } from "./list-body.ts";
import { repeatAfterMs, retryAfterMs } from "./retry-call.ts";

/** One attempt, for metrics. `status` 0: no response. */
export interface CallFacts {
  readonly method: KubeRequest["method"];
  /** `pods`, `leases`, …; only resources that this program requests. */
  readonly resource: string;
  readonly status: number;
  readonly ms: number;
}

const DEFAULT_TIMEOUT_MS = 10_000;
/** An urgent call that waits longer counts as unanswered. */
const SILENT_MS = 1_000;
/** The largest response; for a list, the largest item. */
const MAX_BYTES = 16 << 20;
/** The part of an error response that is read. */
const MAX_ERROR_BYTES = 64 << 10;
const USER_AGENT = "gastown-terminal";

export interface TransportHooks {
  readonly onAttempt?: (facts: CallFacts) => void;
  /** Called with the `Date` header of each response and the time that the response took, ms. */
  readonly onDate?: (date: unknown, ms: number) => void;
}

/**
 * The Kubernetes API over HTTP/1.1: at most three connections for calls, one for urgent calls, eight for creating pods,
 * and one per watch.
 */
export class KubeTransport implements KubeApi {
  readonly #clock: Clock;
  readonly #connections: KubeConnections;
  readonly #hooks: TransportHooks;
  /** The urgent attempts under way, with when each began. */
  readonly #urgent = new Set<{ readonly startedAt: number }>();
  #unansweredAtMs: number | undefined;

  constructor(deps: ConnectionsDeps, hooks: TransportHooks = {}) {
    this.#clock = deps.clock;
    this.#connections = new KubeConnections(deps);
    this.#hooks = hooks;
  }

  /** Keeps connections until the signal is aborted; then closes them, and calls in progress fail. */
  async run(signal: AbortSignal): Promise<void> {
    await aborted(signal);
    await this.#connections.destroy();
  }

  get unansweredAtMs(): number | undefined {
    const now = this.#clock.monotonicMs();
    const waits = [...this.#urgent].some(({ startedAt }) => now - startedAt > SILENT_MS);
    return waits ? now : this.#unansweredAtMs;
  }

  async call(request: KubeRequest, signal: AbortSignal): Promise<unknown> {
    const timeoutMs = request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const end = this.#clock.monotonicMs() + timeoutMs;
    using deadline = this.#deadline(request, timeoutMs, signal);
    for (let repeats = 0; ; repeats++) {
      try {
        return await this.#attempt(request, deadline.signal);
      } catch (err) {
        deadline.signal.throwIfAborted();
        const waitMs = repeatAfterMs(err, request.method, repeats);
        if (waitMs === undefined || this.#clock.monotonicMs() + waitMs >= end) throw err;
        if (isFault(err, "unauthenticated")) await this.#connections.reread();
        await this.#clock.sleep(waitMs, deadline.signal);
      }
    }
  }

  async *stream(request: KubeRequest, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const done = new AbortController();
    const either = AbortSignal.any([signal, done.signal]);
    try {
      const { body } = await this.#opened(request, either);
      yield new Uint8Array();
      for await (const chunk of body) yield chunk as Uint8Array;
    } catch (err) {
      either.throwIfAborted();
      throw err instanceof DomainError ? err : new KubeUnreachableError(actionOf(request), err);
    } finally {
      done.abort(new DomainError("cancelled", "the reader left"));
    }
  }

  async #opened(request: KubeRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    using deadline = this.#deadline(request, request.timeoutMs ?? DEFAULT_TIMEOUT_MS, signal);
    try {
      return await this.#send(request, "watches", deadline.signal, signal);
    } catch (err) {
      deadline.signal.throwIfAborted();
      if (isFault(err, "unauthenticated")) await this.#connections.reread();
      throw err;
    }
  }

  async #attempt(request: KubeRequest, signal: AbortSignal): Promise<unknown> {
    const { body } = await this.#send(request, request.lane ?? "calls", signal, signal);
    try {
      const { keep } = request;
      const answer =
        keep === undefined ? JSON.parse(await wholeText(body, MAX_BYTES)) : await readList(body, keep, MAX_BYTES);
      // Other programs that answer with 200, e.g. a proxy on the way, set no kind.
      if (asText(objectOf(answer)["kind"]) !== "") return answer;
      throw new SyntaxError("the answer is not an object of Kubernetes");
    } catch (err) {
      throw new KubeUnreachableError(actionOf(request), err);
    }
  }

  /** Resolves with a 2xx response. `until`: aborts the response's body. */
  async #send(
    request: KubeRequest,
    lane: Lane,
    start: AbortSignal,
    until: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    request.beforeAttempt?.();
    const startedAt = this.#clock.monotonicMs();
    const attempt = { startedAt };
    if (lane === "urgent") this.#urgent.add(attempt);
    let status = 0;
    try {
      const answer = await this.#dispatch(request, lane, start, until);
      status = answer.statusCode;
      this.#hooks.onDate?.(answer.headers["date"], this.#clock.monotonicMs() - startedAt);
      if (status >= 200 && status < 300) return answer;
      const said = statusAnswer(await json(answer.body));
      throw new KubeApiError(actionOf(request), status, said, retryAfterMs(answer.headers["retry-after"]));
    } catch (err) {
      throw err instanceof DomainError ? err : new KubeUnreachableError(actionOf(request), err);
    } finally {
      const ms = this.#clock.monotonicMs() - startedAt;
      if (this.#urgent.delete(attempt) && status === 0) this.#unansweredAtMs = this.#clock.monotonicMs();
      this.#hooks.onAttempt?.({ method: request.method, resource: resourceOf(request.path), status, ms });
    }
  }

  async #dispatch(request: KubeRequest, lane: Lane, start: AbortSignal, until: AbortSignal) {
    const { dispatcher, access } = await this.#connections.over(lane);
    start.throwIfAborted();
    const url = new URL(access.server);
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) query.set(name, `${value}`);
    }
    const hasBody = request.body !== undefined;
    // The deadline applies to the start of a stream, not to its body.
    const opening = new AbortController();
    const onStart = () => opening.abort(start.reason);
    start.addEventListener("abort", onStart, { once: true });
    try {
      const { beforeAttempt } = request;
      const over = beforeAttempt === undefined ? dispatcher : dispatcher.compose(askedAtStart(beforeAttempt));
      return await over.request({
        origin: url.origin,
        path: `${url.pathname.replace(/\/$/, "")}${request.path}${query.size > 0 ? `?${query}` : ""}`,
        method: request.method,
        headers: {
          accept: "application/json",
          "user-agent": USER_AGENT,
          ...access.headers,
          ...(hasBody ? { "content-type": request.contentType ?? "application/json" } : {}),
        },
        body: hasBody ? JSON.stringify(request.body) : null,
        signal: AbortSignal.any([until, opening.signal]),
      });
    } finally {
      start.removeEventListener("abort", onStart);
    }
  }

  #deadline(request: KubeRequest, ms: number, signal: AbortSignal): Disposable & { readonly signal: AbortSignal } {
    const done = new AbortController();
    const expired = new AbortController();
    const reason = () =>
      new DomainError(
        "deadline",
        `cannot ${actionOf(request)}: the Kubernetes API does not answer within ${ms / 1_000} s`,
      );
    this.#clock.sleep(ms, done.signal).then(
      () => expired.abort(reason()),
      () => {},
    );
    return { signal: AbortSignal.any([signal, expired.signal]), [Symbol.dispose]: () => done.abort() };
  }
}

/**
 * Calls `ask` again when the request is about to be written to its connection, and does not send the request if `ask`
 * throws: the request may have waited for a connection while the process was suspended.
 */
function askedAtStart(ask: () => void): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) => dispatch(options, new AskedHandler(handler, ask));
}

class AskedHandler extends DecoratorHandler {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #ask: () => void;

  constructor(handler: Dispatcher.DispatchHandler, ask: () => void) {
    super(handler);
    this.#handler = handler;
    this.#ask = ask;
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    this.#ask();
    this.#handler.onRequestStart?.(controller, context);
  }
}

async function json(body: Dispatcher.ResponseData["body"]): Promise<unknown> {
  const text = await leadingText(body, MAX_ERROR_BYTES);
  try {
    return JSON.parse(text);
  } catch {
    return { message: text.slice(0, 200) }; // from a proxy, or from the server before it is ready
  }
}

function actionOf(request: KubeRequest): string {
  return `${request.method} ${request.path}`;
}

/** `/api/v1/namespaces/a/pods/b/status` → `pods`. */
function resourceOf(path: string): string {
  return RESOURCE.exec(path)?.[1] ?? "other";
}

const RESOURCE = /^\/(?:api|apis\/[^/]+)\/[^/]+\/(?:namespaces\/[^/]+\/)?([a-z]+)/;
