import type { HandlerContext } from "@connectrpc/connect";
import type { DomainError } from "../../base/errors.ts";
import type { ConnectionDecision } from "../port/connection-decision.ts";

/** Hears of every decision about who may come in. Called in the path of calls: must be cheap. */
export interface Decisions {
  /** A call goes to its handler (`refusal` undefined), or is refused before its request is read. */
  call(context: HandlerContext, refusal: DomainError | undefined): void;
  /** An admitted call has lost the credential that admitted it. */
  ended(context: HandlerContext, why: DomainError): void;
  connection(decision: ConnectionDecision): void;
}
