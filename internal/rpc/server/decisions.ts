import type { DomainError } from "../../base/errors.ts";
import type { ConnectionDecision } from "../port/connection-decision.ts";
import type { CallContext } from "./call-facts.ts";

/** Hears of every decision about who may come in. Called in the path of calls: must be cheap. */
export interface Decisions {
  /** A call goes to its handler (`refusal` undefined), or is refused before its request is read. */
  call(context: CallContext, refusal: DomainError | undefined): void;
  /** An admitted call has lost the credential that admitted it. */
  ended(context: CallContext, why: DomainError): void;
  connection(decision: ConnectionDecision): void;
}
