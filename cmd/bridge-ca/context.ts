import type { Output } from "../../internal/cli/output.ts";
import type { FileContext } from "./files/write-files.ts";

/** What a command works with. */
export interface CommandContext extends FileContext {
  readonly out: Output;
  readonly err: Output;
  readonly stdin: NodeJS.ReadStream;
  readonly stderr: NodeJS.WriteStream;
}
