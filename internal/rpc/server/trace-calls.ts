import { Code, ConnectError, type ContextKey, createContextKey, type Interceptor } from "@connectrpc/connect";
import { DomainError } from "../../base/errors.ts";
import type { Tracer, TraceSpan } from "../../base/tracing.ts";

/** The span of a call; undefined: the call is not traced. */
export const spanKey: ContextKey<TraceSpan | undefined> = createContextKey<TraceSpan | undefined>(undefined, {
  description: "span of a call",
});

/**
 * Creates a span for each admitted call, below the caller's `traceparent`. The span of a stream ends with the stream.
 */
export function traceCalls(tracer: Tracer): Interceptor {
  return (next) => async (request) => {
    const { typeName } = request.service;
    const attributes = { "rpc.service": typeName, "rpc.method": request.method.name };
    const traceparent = request.header.get("traceparent") ?? undefined;
    const span = tracer.begin(`${typeName}/${request.method.name}`, traceparent, attributes);
    if (span === undefined) return next(request);
    request.contextValues.set(spanKey, span);
    try {
      const response = await next(request);
      if (response.stream) return { ...response, message: untilEnd(response.message, span) };
      span.end();
      return response;
    } catch (err) {
      span.end(failureName(err));
      throw err;
    }
  };
}

/** The kind of an error, for a span; never its text. */
export function failureName(err: unknown): string {
  if (err instanceof DomainError) return err.kind;
  return err instanceof ConnectError ? (Code[err.code] ?? "unknown").toLowerCase() : "internal";
}

async function* untilEnd<T>(messages: AsyncIterable<T>, span: TraceSpan): AsyncGenerator<T, void, undefined> {
  let error: string | undefined;
  try {
    yield* messages;
  } catch (err) {
    error = failureName(err);
    throw err;
  } finally {
    span.end(error);
  }
}
