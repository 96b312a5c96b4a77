import type { Clock } from "../../internal/base/clock.ts";
import type { Logger } from "../../internal/base/logger.ts";
import type { Output } from "../../internal/cli/output.ts";

/** The context that every `gt-controller` command gets. */
export interface ControllerContext {
  readonly out: Output;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}
