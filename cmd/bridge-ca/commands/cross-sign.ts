import { knownWord, takeArguments } from "../../../internal/cli/command/arguments.ts";
import type { Command, CommandFlags, Given } from "../../../internal/cli/command/command.ts";
import type { FileOps } from "../../../internal/files/file-ops.ts";
import { readDays } from "../ca/read-days.ts";
import { crlUrl, keyBeside, needed, passphrase, split, trustDomain } from "./readings.ts";
import type { CrossSignOptions } from "./run-cross-sign.ts";
import { CRL_URL_FLAG, FORCE_FLAG, PASSPHRASE_FLAGS, PASSPHRASE_SECTION } from "./shared-flags.ts";

const USAGES = ["client", "server"] as const;

const FLAGS = {
  "target-ca": { type: "string", value: "FILE", help: "the other CA's certificate", complete: "file" },
  usage: {
    type: "string",
    value: "USAGE",
    help: "client: it may certify only clients (the default), with ids of its own trust domain\nserver: it may certify only servers, with only these names:",
    complete: USAGES,
  },
  "permit-dns": { type: "list", value: "NAME", help: "this host and all names below it; may repeat" },
  "permit-ip": {
    type: "list",
    value: "ADDRESS",
    help: "this address or network (10.0.0.0/8); may repeat. Without it, no address",
  },
  "trust-domain": {
    type: "string",
    value: "DOMAIN",
    help: "the trust domain of a client CA whose certificate does not name it",
  },
  ...CRL_URL_FLAG,
  days: { type: "number", value: "N", help: "how long it is valid (365), at most as long as both CAs" },
  out: { type: "string", value: "FILE", help: "the certificate", complete: "file" },
  ...FORCE_FLAG,
  "signer-ca": { type: "string", value: "FILE", help: "your CA's certificate (certs/ca.crt)", complete: "file" },
  "signer-key": {
    type: "string",
    value: "FILE",
    help: "its key (beside the certificate, with .key)",
    complete: "file",
  },
  ...PASSPHRASE_FLAGS,
} as const satisfies CommandFlags;

/** `bridge-ca cross-sign`: trusts another project's CA, within limits. */
export const crossSign = (ops: FileOps): Command<typeof FLAGS> => ({
  name: "cross-sign",
  flags: FLAGS,
  help: {
    usage: "--target-ca FILE --out FILE",
    summary: "trust another project's CA, within limits",
    text: `Certifies another project's CA, so that its certificates lead to yours. The certificate itself limits what that CA may
certify, and every TLS library checks this: no CAs below it, one usage, and no name in your own trust domain.`,
    sections: [PASSPHRASE_SECTION],
    examples: [
      `bridge-ca cross-sign --signer-ca certs/ca.crt --signer-key certs/ca.key \\
    --target-ca ../prd-manager-control-plane/certs/ca.crt \\
    --out certs/prd-manager-ca-cross-signed.crt`,
      `bridge-ca cross-sign --target-ca ../ai-agent-bridge/certs/ca.crt \\
    --usage server --permit-dns bridge.example.com --permit-ip 192.168.1.10 \\
    --out certs/bridge-ca-cross-signed.crt`,
    ],
  },
  completion: [],
  run: async (given, context) =>
    (await import("./run-cross-sign.ts")).runCrossSign({ ...context, ops }, read(given, context.env)),
});

function read(
  { values, positionals, rest = [] }: Given<typeof FLAGS>,
  env: Readonly<Record<string, string | undefined>>,
): CrossSignOptions {
  takeArguments("bridge-ca cross-sign", [...positionals, ...rest], []);
  return {
    ca: values["signer-ca"] ?? "certs/ca.crt",
    caKey: values["signer-key"] ?? keyBeside(values["signer-ca"] ?? "certs/ca.crt"),
    target: needed("cross-sign", "--target-ca", values["target-ca"]),
    limits: {
      usage: knownWord("--usage", values.usage, USAGES),
      permitDns: split(values["permit-dns"]),
      permitIp: split(values["permit-ip"]),
      trustDomain: trustDomain(values["trust-domain"]),
      crlUrl: crlUrl(values["crl-url"]),
      days: readDays(values.days, 365),
    },
    out: needed("cross-sign", "--out", values.out),
    passphrase: passphrase(values, env),
    force: values.force ?? false,
  };
}
