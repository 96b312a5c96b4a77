import { usageError } from "../../../internal/cli/command/arguments.ts";
import type { Command } from "../../../internal/cli/command/command.ts";

/** `bridge-ca inspect`: shows the contents of files. */
export const inspect: Command<Record<never, never>> = {
  name: "inspect",
  flags: {},
  help: {
    usage: "FILE…",
    summary: "show the contents of files",
    text: "Shows the contents of files: certificates, bundles, revocation lists, keys. Secrets are not shown.",
    examples: ["bridge-ca inspect certs/ca.crt certs/bridge.crt"],
  },
  completion: "file",
  run: async ({ positionals, rest = [] }, context) => {
    const files = [...positionals, ...rest];
    if (files.length === 0) throw usageError("bridge-ca inspect", "inspect needs a file");
    return await (await import("./run-inspect.ts")).runInspect(context, { files });
  },
};
