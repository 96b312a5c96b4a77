import { knownWord, takeArguments } from "../../../internal/cli/command/arguments.ts";
import type { Command, CommandFlags, Given } from "../../../internal/cli/command/command.ts";
import type { FileOps } from "../../../internal/files/file-ops.ts";
import { REVOCATION_REASONS, type RevocationReason } from "../../../internal/pki/sign-revocation-list.ts";
import { caFiles, needed } from "./readings.ts";
import type { RevokeOptions } from "./run-revoke.ts";
import { CA_FLAGS } from "./shared-flags.ts";

const REASONS = Object.keys(REVOCATION_REASONS) as [RevocationReason, ...RevocationReason[]];

const FLAGS = {
  cert: { type: "string", value: "FILE", help: "the certificate", complete: "file" },
  reason: {
    type: "string",
    value: "REASON",
    help: "unspecified (the default), key-compromise, ca-compromise, affiliation-changed, superseded, cessation-of-operation or privilege-withdrawn",
    complete: REASONS,
  },
  ...CA_FLAGS,
} as const satisfies CommandFlags;

/** `bridge-ca revoke`: marks a certificate for the next revocation list. */
export const revoke = (ops: FileOps): Command<typeof FLAGS> => ({
  name: "revoke",
  flags: FLAGS,
  help: {
    usage: "--cert FILE",
    summary: "revoke a certificate",
    text: `Revokes a certificate. The revocation takes effect with the next list: bridge-ca crl. A cross-signature can be revoked too,
which revokes every chain through it.`,
    examples: [
      "bridge-ca revoke --cert certs/prd-manager-client.crt --reason key-compromise",
      "bridge-ca crl --out certs/crl.pem",
    ],
  },
  completion: [],
  run: async (given, context) => (await import("./run-revoke.ts")).runRevoke({ ...context, ops }, read(given)),
});

function read({ values, positionals, rest = [] }: Given<typeof FLAGS>): RevokeOptions {
  takeArguments("bridge-ca revoke", [...positionals, ...rest], []);
  return {
    cert: needed("revoke", "--cert", values.cert),
    reason: knownWord("--reason", values.reason ?? "unspecified", REASONS),
    ...caFiles(values),
  };
}
