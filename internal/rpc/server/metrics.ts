import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { CallContext } from "./call-facts.ts";

const DURATION_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600];

/** Node samples the event loop's delay with a timer; an idle sidecar need not wake a hundred times a second. */
const LOOP_SAMPLE_MS = 100;

/**
 * Metrics of one process, in their own registry. Other rooms add theirs to `registry` (names begin with `gastown_` and
 * end in the unit). Values never contain terminal content, and labels never contain text that a caller chose.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #requests: Counter<"method" | "code" | "protocol">;
  readonly #durations: Histogram<"method">;
  readonly #streams: Gauge<"method">;

  constructor() {
    const registers = [this.registry];
    this.#requests = new Counter({
      name: "gastown_rpc_requests_total",
      help: "Finished RPCs, by method, code and protocol.",
      labelNames: ["method", "code", "protocol"],
      registers,
    });
    this.#durations = new Histogram({
      name: "gastown_rpc_duration_seconds",
      help: "Time from a unary RPC's request to its response.",
      labelNames: ["method"],
      buckets: DURATION_BUCKETS_SECONDS,
      registers,
    });
    this.#streams = new Gauge({
      name: "gastown_rpc_active_streams",
      help: "Open streaming RPCs.",
      labelNames: ["method"],
      registers,
    });
  }

  /** Adds metrics of the process's CPU, memory, event loop and garbage collection. */
  collectProcess(): void {
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: LOOP_SAMPLE_MS });
  }

  /** Counts and times each RPC; must be the outermost interceptor. */
  interceptor(): Interceptor {
    return (next) => async (req) => {
      const method = `${req.service.typeName}/${req.method.name}`;
      const protocol = protocolOf(req.header.get("content-type") ?? "");
      const count = (err?: unknown) => this.#requests.inc({ method, code: codeName(err), protocol });
      if (!req.stream) {
        const observe = this.#durations.startTimer({ method });
        try {
          const res = await next(req);
          count();
          return res;
        } catch (err) {
          count(err);
          throw err;
        } finally {
          observe();
        }
      }
      const ended = this.streamBegan(method, protocol);
      try {
        const res = await next(req);
        return res.stream ? { ...res, message: observeEnd(res.message, ended) } : res;
      } catch (err) {
        ended(err);
        throw err;
      }
    };
  }

  /** Counts a call that stays open; call the result once, when it has ended. */
  streamBegan(method: string, protocol: string): (err?: unknown) => void {
    this.#streams.inc({ method });
    return (err) => {
      this.#streams.dec({ method });
      this.#requests.inc({ method, code: codeName(err), protocol });
    };
  }

  /** Counts a call that a gate refused: interceptors never see it. */
  countRefusal(context: CallContext, err: unknown): void {
    const method = `${context.service.typeName}/${context.method.name}`;
    this.#requests.inc({ method, code: codeName(err), protocol: context.protocolName });
  }
}

function codeName(err: unknown): string {
  if (err === undefined) return "ok";
  const name = Code[ConnectError.from(err, Code.Internal).code] ?? "Unknown";
  return name.replace(/(?<=[a-z])[A-Z]/g, "_$&").toLowerCase();
}

function protocolOf(contentType: string): string {
  if (contentType.startsWith("application/grpc-web")) return "grpc-web";
  return contentType.startsWith("application/grpc") ? "grpc" : "connect";
}

/** Calls `ended` once: at the end, at a failure, or when the response is abandoned. */
function observeEnd<T>(messages: AsyncIterable<T>, ended: (err?: unknown) => void): AsyncIterable<T> {
  let open = true;
  const end = (err?: unknown) => {
    if (open) ended(err);
    open = false;
  };
  return {
    [Symbol.asyncIterator]() {
      const inner = messages[Symbol.asyncIterator]();
      return {
        async next() {
          try {
            const result = await inner.next();
            if (result.done) end();
            return result;
          } catch (err) {
            end(err);
            throw err;
          }
        },
        throw(reason) {
          end(new ConnectError("the caller disconnected", Code.Canceled));
          return inner.throw?.(reason) ?? Promise.reject(reason);
        },
        return(value) {
          end();
          return inner.return?.(value) ?? Promise.resolve({ done: true, value: undefined });
        },
      };
    },
  };
}
