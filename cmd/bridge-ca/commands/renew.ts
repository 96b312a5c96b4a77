import { takeArguments, usageError } from "../../../internal/cli/command/arguments.ts";
import type { Command, CommandFlags, Given } from "../../../internal/cli/command/command.ts";
import type { FileOps } from "../../../internal/files/file-ops.ts";
import { readDays, readWithin } from "../ca/read-days.ts";
import { caFiles, keyBeside, keyType, needed, passphrase } from "./readings.ts";
import type { RenewOptions } from "./run-renew.ts";
import { CA_FLAGS, KEY_TYPE_FLAG, PASSPHRASE_FLAGS, PASSPHRASE_SECTION } from "./shared-flags.ts";

const FLAGS = {
  cert: { type: "string", value: "FILE", help: "the certificate", complete: "file" },
  key: {
    type: "string",
    value: "FILE",
    help: "its key (beside the certificate, with .key); written first, so that programs that watch the two files keep the old pair until both are replaced",
    complete: "file",
  },
  within: {
    type: "string",
    value: "TIME",
    help: "only if it expires within this time (30d, 12h), or its key does not match",
  },
  "keep-key": { type: "boolean", help: "keep the same key" },
  "key-type": { ...KEY_TYPE_FLAG["key-type"], help: "the type of the new key: ecdsa-p384 or rsa-4096 (as before)" },
  days: { type: "number", value: "N", help: "how long it is valid (as long as the old one)" },
  "from-ca": {
    type: "string",
    value: "FILE",
    help: "the CA that issued it, if another one of your CAs renews it",
    complete: "file",
  },
  ...CA_FLAGS,
  ...PASSPHRASE_FLAGS,
} as const satisfies CommandFlags;

/** `bridge-ca renew`: replaces a certificate and its key. */
export const renew = (ops: FileOps): Command<typeof FLAGS> => ({
  name: "renew",
  flags: FLAGS,
  help: {
    usage: "--cert FILE",
    summary: "replace a certificate and its key",
    text: `Replaces a certificate with one for the same names and a later expiry, and its key with a new one. Suitable for cron: it asks
nothing if the passphrase comes from a file or the environment, and running it again after a crash completes the renewal.`,
    sections: [PASSPHRASE_SECTION],
    notes: `Exit codes: 0 renewed, or not due (stdout says which); 3 a file cannot be read or written; 4 the certificate is revoked or from
another CA; 5 the CA's key cannot be used; 6 another process is writing: try again. After any code other than 0 the old pair
is in place.`,
    examples: [
      "bridge-ca renew --cert certs/bridge.crt --ca certs/ca.crt",
      `bridge-ca renew --cert certs/bridge.crt --within 30d \\
    --passphrase-file ~/.bridge-ca-passphrase`,
    ],
  },
  completion: [],
  run: async (given, context) =>
    (await import("./run-renew.ts")).runRenew({ ...context, ops }, read(given, context.env)),
});

function read(
  { values, positionals, rest = [] }: Given<typeof FLAGS>,
  env: Readonly<Record<string, string | undefined>>,
): RenewOptions {
  takeArguments("bridge-ca renew", [...positionals, ...rest], []);
  const cert = needed("renew", "--cert", values.cert);
  if (values["keep-key"] && values["key-type"])
    throw usageError("bridge-ca renew", "--keep-key and --key-type are mutually exclusive");
  return {
    cert,
    key: values.key ?? keyBeside(cert),
    keepKey: values["keep-key"] ?? false,
    keyType: keyType(values["key-type"]),
    withinMs: values.within === undefined ? undefined : readWithin(values.within),
    days: values.days === undefined ? undefined : readDays(values.days, 90),
    fromCa: values["from-ca"],
    ...caFiles(values),
    passphrase: passphrase(values, env),
  };
}
