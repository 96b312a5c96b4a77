import type { TraceSpan } from "../base/tracing.ts";
import { SENDER_HEADER, SENDER_ROLE_HEADER } from "../rpc/port/caller.ts";
import type { Caller } from "./session-backend.ts";

/**
 * What tells a sidecar that believes us on whose behalf a call is made, that it may do no more than that caller, and
 * which trace the call belongs to. `span`: of the call to the sidecar; default: the caller's.
 */
export function senderHeaders(
  { identity, role, trace }: Pick<Caller, "identity"> & Partial<Caller>,
  span: TraceSpan | undefined = trace,
): Record<string, string> {
  return {
    [SENDER_HEADER]: identity,
    ...(role && { [SENDER_ROLE_HEADER]: role }),
    ...(span && { traceparent: span.traceparent }),
  };
}
