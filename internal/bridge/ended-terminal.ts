import type { DescMessage, DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import type { DomainError } from "../base/errors.ts";
import { SidecarService } from "../gen/gastown/v1/sidecar_pb.ts";
import type { Actor, SessionTerminal } from "./session-backend.ts";

const { peek, status, getNudge } = SidecarService.method;
/** Calls that can be answered after an agent has ended. */
const LOOKS: ReadonlySet<unknown> = new Set([peek, status, getNudge]);

/**
 * The terminal of a session that has ended: `look` answers the calls that read its state; all others fail with `why`.
 */
export function endedTerminal(look: SessionTerminal["unary"], why: () => DomainError): SessionTerminal {
  return {
    unary: <I extends DescMessage, O extends DescMessage>(
      method: DescMethodUnary<I, O>,
      request: MessageShape<I>,
      caller: Actor,
      signal: AbortSignal,
    ) => (LOOKS.has(method) ? look(method, request, caller, signal) : Promise.reject(why())),
    stream: () => failing(why),
    attach: () => failing(why),
  };
}

/** Fails when its first element is requested. */
export function failing(why: () => DomainError): AsyncIterable<never> {
  return { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(why()) }) };
}
