import { takeArguments } from "../../../internal/cli/command/arguments.ts";
import type { Command, CommandFlags, Given } from "../../../internal/cli/command/command.ts";
import type { FileOps } from "../../../internal/files/file-ops.ts";
import { caFiles, needed } from "./readings.ts";
import type { BundleOptions } from "./run-bundle.ts";
import { FORCE_FLAG } from "./shared-flags.ts";

const FLAGS = {
  ca: { type: "string", value: "FILE", help: "your CA's certificate (certs/ca.crt)", complete: "file" },
  "previous-ca": {
    type: "list",
    value: "FILE",
    help: "your earlier CA, while it is being replaced; may repeat",
    complete: "file",
  },
  "cross-signed": {
    type: "list",
    value: "FILE",
    help: "a certificate that cross-sign wrote; may repeat",
    complete: "file",
  },
  out: { type: "string", value: "FILE", help: "the bundle", complete: "file" },
  ...FORCE_FLAG,
} as const satisfies CommandFlags;

/** `bridge-ca bundle`: writes the bundle of trusted CAs. */
export const bundle = (ops: FileOps): Command<typeof FLAGS> => ({
  name: "bundle",
  flags: FLAGS,
  help: {
    usage: "--out FILE",
    summary: "write the bundle of trusted CAs",
    text: `Writes the trusted CAs: your own, and those that it has cross-signed. A self-signed CA of another project is refused,
because in a bundle it would be trusted without limits.`,
    examples: [
      `bridge-ca bundle --ca certs/ca.crt \\
    --cross-signed certs/prd-manager-ca-cross-signed.crt \\
    --out certs/ca-bundle.crt`,
    ],
  },
  completion: [],
  run: async (given, context) => (await import("./run-bundle.ts")).runBundle({ ...context, ops }, read(given)),
});

function read({ values, positionals, rest = [] }: Given<typeof FLAGS>): BundleOptions {
  takeArguments("bridge-ca bundle", [...positionals, ...rest], []);
  return {
    ...caFiles(values),
    previous: values["previous-ca"] ?? [],
    crossSigned: values["cross-signed"] ?? [],
    out: needed("bundle", "--out", values.out),
    force: values.force ?? false,
  };
}
