export type SpanKind = "server" | "client" | "internal";

/** Ids, states, outcomes and durations; never what was typed or printed. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** One step of a call that passes through several programs. */
export interface TraceSpan {
  /** The value for the next program, in W3C Trace Context format. */
  readonly traceparent: string;
  /** False: the span is not kept; the caller's `traceparent` is only passed on. */
  readonly isRecording: boolean;
  child(name: string, kind: SpanKind, attributes?: SpanAttributes): TraceSpan;
  set(attributes: SpanAttributes): void;
  /** Call it once. `error`: the kind of failure that ended the step. */
  end(error?: string): void;
}

export interface Tracer {
  /**
   * The span of an incoming call. `traceparent` is the caller's header; without one, or with a malformed one, a new
   * trace begins. Undefined: there is nothing to keep or to pass on.
   */
  begin(name: string, traceparent: string | undefined, attributes?: SpanAttributes): TraceSpan | undefined;
}

export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  /** Eight bits; the lowest is set if the caller keeps this trace. */
  readonly flags: number;
}

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Parses a `traceparent` of version 00; undefined for any other text. */
export function parseTraceparent(text: string | undefined): TraceParent | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}

export function formatTraceparent({ traceId, spanId, flags }: TraceParent): string {
  return `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, "0")}`;
}

/** Keeps nothing and passes the caller's `traceparent` on. */
export const passingTracer: Tracer = {
  begin: (_name, traceparent) =>
    traceparent === undefined || parseTraceparent(traceparent) === undefined ? undefined : passedOn(traceparent),
};

function passedOn(traceparent: string): TraceSpan {
  const span: TraceSpan = { traceparent, isRecording: false, child: () => span, set: () => {}, end: () => {} };
  return span;
}
