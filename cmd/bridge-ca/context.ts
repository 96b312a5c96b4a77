import type { Clock } from "../../internal/base/clock.ts";
import type { Output } from "../../internal/cli/output.ts";
import type { FileOps } from "../../internal/files/file-ops.ts";

/** What a command works with. */
export interface CommandContext {
  readonly out: Output;
  readonly err: Output;
  readonly stdin: NodeJS.ReadStream;
  readonly stderr: NodeJS.WriteStream;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly ops: FileOps;
}
