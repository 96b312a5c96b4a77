import type { Context, Span } from "@opentelemetry/api";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import { within } from "../base/abort.ts";
import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/logger.ts";
import {
  formatTraceparent,
  parseTraceparent,
  type SpanAttributes,
  type SpanKind,
  type Tracer,
  type TraceSpan,
} from "../base/tracing.ts";

type Api = typeof import("@opentelemetry/api");
type ExportResult = Parameters<Parameters<SpanExporter["export"]>[1]>[0];

export interface OtlpTracerDeps {
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface OtlpTracerOptions {
  /** The whole URL, e.g. `http://127.0.0.1:4318/v1/traces`. */
  readonly url: string;
  /** `service.name`, `service.version`, and other attributes that identify the process. */
  readonly resource: Readonly<Record<string, string>>;
}

/** A tracer that sends its pending spans when it is disposed of. */
export type OpenTracer = Tracer & AsyncDisposable;

/** The most spans that wait (further ones are dropped), and the most in one request. */
const MAX_WAITING = 2048;
const MAX_OF_ONE_REQUEST = 512;
const SEND_AFTER_MS = 1000;
/** The timeout of a request, and the maximum number of concurrent requests. */
const ANSWER_MS = 3000;
const MAX_REQUESTS = 2;
/** The time to send pending spans at the end. */
const FLUSH_MS = 2000;
const TELL_EVERY_MS = 60_000;
const MAX_TEXT_CHARS = 256;

/**
 * Opens a tracer that sends spans to a collector by OTLP over HTTP. Loads its libraries only now, so that programs
 * without tracing need not load them. If the collector is unavailable or hangs, spans are lost, which is logged at most
 * once a minute.
 */
export async function openOtlpTracer(deps: OtlpTracerDeps, options: OtlpTracerOptions): Promise<OpenTracer> {
  const [api, sdk, { OTLPTraceExporter }, { resourceFromAttributes }] = await Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/sdk-trace"),
    import("@opentelemetry/exporter-trace-otlp-http"),
    import("@opentelemetry/resources"),
  ]);
  const otlp = new OTLPTraceExporter({ url: options.url, timeoutMillis: ANSWER_MS, concurrencyLimit: MAX_REQUESTS });
  const batches = new sdk.BatchSpanProcessor({
    exporter: new ReportingExporter(otlp, deps),
    ...{ maxQueueSize: MAX_WAITING, maxExportBatchSize: MAX_OF_ONE_REQUEST },
    ...{ scheduledDelayMillis: SEND_AFTER_MS, exportTimeoutMillis: ANSWER_MS },
  });
  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes({ ...options.resource }),
    sampler: new sdk.ParentBasedSampler({ root: new sdk.AlwaysOnSampler() }),
    spanLimits: { attributeValueLengthLimit: MAX_TEXT_CHARS },
    spanProcessors: [batches],
  });
  const tracer = provider.getTracer("gastown");
  const start: StartSpan = (name, kind, attributes, parent) => {
    const span = tracer.startSpan(name, { kind: kindOf(api, kind), attributes: { ...attributes } }, parent);
    return new OtlpSpan(span, parent, api, start);
  };
  return {
    begin: (name, traceparent, attributes = {}) => start(name, "server", attributes, contextOf(api, traceparent)),
    [Symbol.asyncDispose]: () => within(deps.clock, FLUSH_MS, provider.shutdown()).catch(() => {}),
  };
}

type StartSpan = (name: string, kind: SpanKind, attributes: SpanAttributes, parent: Context) => TraceSpan;

class OtlpSpan implements TraceSpan {
  readonly isRecording: boolean;
  readonly #span: Span;
  readonly #parent: Context;
  readonly #api: Api;
  readonly #start: StartSpan;

  constructor(span: Span, parent: Context, api: Api, start: StartSpan) {
    this.isRecording = span.isRecording();
    this.#span = span;
    this.#parent = parent;
    this.#api = api;
    this.#start = start;
  }

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.#span.spanContext();
    return formatTraceparent({ traceId, spanId, flags: traceFlags });
  }

  child(name: string, kind: SpanKind, attributes: SpanAttributes = {}): TraceSpan {
    return this.#start(name, kind, attributes, this.#api.trace.setSpan(this.#parent, this.#span));
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes({ ...attributes });
  }

  end(error?: string): void {
    if (error !== undefined) {
      this.#span.setAttributes({ "error.type": error });
      this.#span.setStatus({ code: this.#api.SpanStatusCode.ERROR });
    }
    this.#span.end();
  }
}

/** Logs spans that the collector did not accept, at most once a minute. */
class ReportingExporter implements SpanExporter {
  readonly #inner: SpanExporter;
  readonly #deps: OtlpTracerDeps;
  #lost = 0;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(inner: SpanExporter, deps: OtlpTracerDeps) {
    this.#inner = inner;
    this.#deps = deps;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#inner.export(spans, (result) => {
      // 0: accepted.
      if (result.code !== 0) this.#tell(spans.length);
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.#inner.shutdown();
  }

  #tell(count: number): void {
    this.#lost += count;
    const now = this.#deps.clock.monotonicMs();
    if (now - this.#toldAt < TELL_EVERY_MS) return;
    this.#deps.logger.warn({ spans: this.#lost }, "spans were lost: the collector did not accept them");
    this.#toldAt = now;
    this.#lost = 0;
  }
}

function contextOf(api: Api, traceparent: string | undefined): Context {
  const parent = parseTraceparent(traceparent);
  if (parent === undefined) return api.ROOT_CONTEXT;
  const { traceId, spanId, flags: traceFlags } = parent;
  return api.trace.setSpanContext(api.ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

function kindOf({ SpanKind: kinds }: Api, kind: SpanKind) {
  return { server: kinds.SERVER, client: kinds.CLIENT, internal: kinds.INTERNAL }[kind];
}
