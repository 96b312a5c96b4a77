import type { Clock } from "../../internal/base/clock.ts";
import type { Logger } from "../../internal/base/logger.ts";
import type { Output } from "../../internal/cli/output.ts";

/** What a command works with. */
export interface CommandContext {
  readonly out: Output;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}
