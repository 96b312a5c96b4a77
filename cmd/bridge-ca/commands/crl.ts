import { takeArguments } from "../../../internal/cli/command/arguments.ts";
import type { Command, CommandFlags, Given } from "../../../internal/cli/command/command.ts";
import type { FileOps } from "../../../internal/files/file-ops.ts";
import { readDays } from "../ca/read-days.ts";
import { caFiles, needed, passphrase } from "./readings.ts";
import type { CrlOptions } from "./run-crl.ts";
import { CA_FLAGS, PASSPHRASE_FLAGS, PASSPHRASE_SECTION } from "./shared-flags.ts";

const FLAGS = {
  out: { type: "string", value: "FILE", help: "the list", complete: "file" },
  days: { type: "number", value: "N", help: "days until the next list is due (30)" },
  force: { type: "boolean", help: "replace a file that is not a list of this CA" },
  ...CA_FLAGS,
  ...PASSPHRASE_FLAGS,
} as const satisfies CommandFlags;

/** `bridge-ca crl`: writes the CA's revocation list. */
export const crl = (ops: FileOps): Command<typeof FLAGS> => ({
  name: "crl",
  flags: FLAGS,
  help: {
    usage: "--out FILE",
    summary: "write the revocation list",
    text: "Writes the CA's revocation list in PEM. An earlier list of the same CA is replaced.",
    sections: [PASSPHRASE_SECTION],
    examples: ["bridge-ca crl --out certs/crl.pem --ca certs/ca.crt --ca-key certs/ca.key"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-crl.ts")).runCrl({ ...context, ops }, read(given, context.env)),
});

function read(
  { values, positionals, rest = [] }: Given<typeof FLAGS>,
  env: Readonly<Record<string, string | undefined>>,
): CrlOptions {
  takeArguments("bridge-ca crl", [...positionals, ...rest], []);
  return {
    out: needed("crl", "--out", values.out),
    days: readDays(values.days, 30),
    ...caFiles(values),
    passphrase: passphrase(values, env),
    force: values.force ?? false,
  };
}
