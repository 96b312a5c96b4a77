import { takeArguments } from "../../../internal/cli/command/arguments.ts";
import type { Command, CommandFlags, Given } from "../../../internal/cli/command/command.ts";
import type { FileOps } from "../../../internal/files/file-ops.ts";
import { readDays } from "../ca/read-days.ts";
import { keyType, needed, passphrase, trustDomain } from "./readings.ts";
import type { InitOptions } from "./run-init.ts";
import { KEY_TYPE_FLAG, PASSPHRASE_FLAGS, PASSPHRASE_SECTION } from "./shared-flags.ts";

const FLAGS = {
  name: { type: "string", value: "NAME", help: "the CA's common name" },
  out: {
    type: "string",
    value: "DIR",
    help: "the folder (certs/); created with mode 0700 if it is missing",
    complete: "folder",
  },
  "trust-domain": {
    type: "string",
    value: "DOMAIN",
    help: "the domain of its ids, spiffe://DOMAIN/… (the name, if it is a valid domain)",
  },
  ...KEY_TYPE_FLAG,
  days: { type: "number", value: "N", help: "how long it is valid (3650)" },
  ...PASSPHRASE_FLAGS,
} as const satisfies CommandFlags;

/** `bridge-ca init`: creates a CA. */
export const init = (ops: FileOps): Command<typeof FLAGS> => ({
  name: "init",
  flags: FLAGS,
  help: {
    usage: "--name NAME",
    summary: "create a CA",
    text: "Creates a CA: DIR/ca.crt, DIR/ca.key (encrypted) and DIR/ca.state.json (what it has issued and revoked).",
    sections: [PASSPHRASE_SECTION],
    examples: [
      'bridge-ca init --name "ai-agent-bridge" --out certs/',
      'bridge-ca init --name "Acme Bridge" --trust-domain acme.example --out acme/',
    ],
  },
  completion: [],
  run: async (given, context) => (await import("./run-init.ts")).runInit({ ...context, ops }, read(given, context.env)),
});

function read(
  { values, positionals, rest = [] }: Given<typeof FLAGS>,
  env: Readonly<Record<string, string | undefined>>,
): InitOptions {
  takeArguments("bridge-ca init", [...positionals, ...rest], []);
  return {
    name: needed("init", "--name", values.name),
    out: values.out ?? "certs/",
    trustDomain: trustDomain(values["trust-domain"]),
    keyType: keyType(values["key-type"]) ?? "ecdsa-p384",
    days: readDays(values.days, 3650),
    passphrase: passphrase(values, env),
  };
}
