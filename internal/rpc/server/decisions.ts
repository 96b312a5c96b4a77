import type { DomainError } from "../../base/errors.ts";
import type { ConnectionDecision } from "../port/connection-decision.ts";
import type { CallContext } from "./call-facts.ts";

/** Receives every authentication and authorization decision. Called for each call, so it must be cheap. */
export interface Decisions {
  /** A call is admitted to its handler (`refusal` undefined), or refused before its request is read. */
  call(context: CallContext, refusal: DomainError | undefined): void;
  /** An admitted call has lost the credential that admitted it. */
  ended(context: CallContext, why: DomainError): void;
  connection(decision: ConnectionDecision): void;
}
