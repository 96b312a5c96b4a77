import type { CommandContext as AnyCommandContext } from "../../../internal/cli/command/command-context.ts";
import type { FileContext } from "../files/write-files.ts";

/** What a command works with. */
export type CommandContext = FileContext & Pick<AnyCommandContext, "out" | "err" | "stdin" | "stderr">;
