import { knownWord, takeArguments } from "../../../internal/cli/command/arguments.ts";
import type { Command, CommandFlags, Given } from "../../../internal/cli/command/command.ts";
import type { FileOps } from "../../../internal/files/file-ops.ts";
import { needed } from "./readings.ts";
import type { VerifyOptions } from "./run-verify.ts";

const USAGES = ["client", "server"] as const;

const FLAGS = {
  cert: {
    type: "string",
    value: "FILE",
    help: "the certificate, and any intermediate ones in the same file",
    complete: "file",
  },
  bundle: { type: "string", value: "FILE", help: "the CAs", complete: "file" },
  crl: { type: "list", value: "FILE", help: "revocation lists; may repeat", complete: "file" },
  usage: {
    type: "string",
    value: "USAGE",
    help: "check it as a server or client; without this flag, for its own usages",
    complete: USAGES,
  },
} as const satisfies CommandFlags;

/** `bridge-ca verify`: checks whether a certificate is trusted. */
export const verify = (ops: FileOps): Command<typeof FLAGS> => ({
  name: "verify",
  flags: FLAGS,
  help: {
    usage: "--cert FILE --bundle FILE",
    summary: "check whether a certificate is trusted, and if not, why",
    text: `Checks whether a certificate leads to a CA of a bundle, and if not, reports which link fails and why. Checks signatures,
dates, usage, path length, name constraints, keys and algorithms, and revocation if a list is given.`,
    notes: "Exit codes: 0 trusted; 4 not trusted.",
    examples: ["bridge-ca verify --cert certs/bridge.crt --bundle certs/ca-bundle.crt"],
  },
  completion: [],
  run: async (given, context) => (await import("./run-verify.ts")).runVerify({ ...context, ops }, read(given)),
});

function read({ values, positionals, rest = [] }: Given<typeof FLAGS>): VerifyOptions {
  takeArguments("bridge-ca verify", [...positionals, ...rest], []);
  return {
    cert: needed("verify", "--cert", values.cert),
    bundle: needed("verify", "--bundle", values.bundle),
    lists: values.crl ?? [],
    usage: values.usage === undefined ? undefined : knownWord("--usage", values.usage, USAGES),
  };
}
