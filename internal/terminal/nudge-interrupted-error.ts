import { DomainError } from "../base/errors.ts";

/**
 * The connection broke after a nudge was sent, and the sidecar did not return in time: the nudge may have been typed.
 */
export class NudgeInterruptedError extends DomainError {}
