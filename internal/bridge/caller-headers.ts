import type { TraceSpan } from "../base/tracing.ts";
import { SENDER_HEADER, SENDER_ROLE_HEADER } from "../rpc/port/caller.ts";
import type { Actor } from "./session-backend.ts";

/**
 * Headers for a sidecar that trusts us: they name the caller of a forwarded call, the role that limits the call, and
 * the trace. `span`: the span of the call to the sidecar; default: the caller's.
 */
export function callerHeaders(
  { identity, role, trace }: Pick<Actor, "identity"> & Partial<Actor>,
  span: TraceSpan | undefined = trace,
): Record<string, string> {
  return {
    [SENDER_HEADER]: identity,
    ...(role && { [SENDER_ROLE_HEADER]: role }),
    ...(span && { traceparent: span.traceparent }),
  };
}
