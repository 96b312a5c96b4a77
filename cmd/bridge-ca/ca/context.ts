import type { CommandContext as AnyCommandContext } from "../../../internal/cli/command/command-context.ts";
import type { FileContext } from "../files/write-files.ts";

/** The context that every `bridge-ca` command gets. */
export type CaContext = FileContext & Pick<AnyCommandContext, "out" | "err" | "stdin" | "stderr">;
