import { knownWord, takeArguments } from "../../../internal/cli/command/arguments.ts";
import type { Command, CommandFlags, Given } from "../../../internal/cli/command/command.ts";
import type { FileOps } from "../../../internal/files/file-ops.ts";
import { readDays } from "../ca/read-days.ts";
import { caFiles, crlUrl, keyType, needed, passphrase, split, trustDomain } from "./readings.ts";
import type { IssueOptions } from "./run-issue.ts";
import {
  CA_FLAGS,
  CRL_URL_FLAG,
  FORCE_FLAG,
  KEY_TYPE_FLAG,
  PASSPHRASE_FLAGS,
  PASSPHRASE_SECTION,
} from "./shared-flags.ts";

const TYPES = ["server", "client", "sidecar"] as const;

const FLAGS = {
  type: {
    type: "string",
    value: "TYPE",
    help: "server: a host\nclient: a caller\nsidecar: the gt-sidecar of a session",
    complete: TYPES,
  },
  cn: { type: "string", value: "NAME", help: "the host, the client's name, the session's id" },
  san: { type: "list", value: "NAMES", help: "more DNS names and IP addresses, separated by commas; may repeat" },
  uri: {
    type: "list",
    value: "URI",
    help: "your own id; for a client it replaces spiffe://DOMAIN/client/NAME",
  },
  namespace: { type: "string", value: "NS", help: "the Kubernetes namespace of a sidecar (default)" },
  "trust-domain": { type: "string", value: "D", help: "the trust domain, instead of the CA's" },
  ...CRL_URL_FLAG,
  days: { type: "number", value: "N", help: "how long it is valid (90)" },
  ...KEY_TYPE_FLAG,
  out: {
    type: "string",
    value: "PREFIX",
    help: "PREFIX.crt and PREFIX.key; if it ends in a slash, a folder with tls.crt, tls.key and ca.crt",
    complete: "file",
  },
  ...FORCE_FLAG,
  ...CA_FLAGS,
  ...PASSPHRASE_FLAGS,
} as const satisfies CommandFlags;

/** `bridge-ca issue`: creates a key and a certificate. */
export const issue = (ops: FileOps): Command<typeof FLAGS> => ({
  name: "issue",
  flags: FLAGS,
  help: {
    usage: "--type TYPE --cn NAME --out PREFIX",
    summary: "create a key and a certificate: server, client or sidecar",
    text: "Creates a key and a certificate.",
    sections: [PASSPHRASE_SECTION],
    examples: [
      `bridge-ca issue --type server --cn "bridge.example.com" \\
    --san "bridge.example.com,192.168.1.10" \\
    --ca certs/ca.crt --ca-key certs/ca.key --out certs/bridge`,
      `bridge-ca issue --type client --cn "prd-manager" \\
    --ca certs/ca.crt --ca-key certs/ca.key --out certs/prd-manager-client`,
      `bridge-ca issue --type sidecar --cn session-1 --namespace agents \\
    --san 127.0.0.1 --out tls/session-1/`,
    ],
  },
  completion: [],
  run: async (given, context) =>
    (await import("./run-issue.ts")).runIssue({ ...context, ops }, read(given, context.env)),
});

function read(
  { values, positionals, rest = [] }: Given<typeof FLAGS>,
  env: Readonly<Record<string, string | undefined>>,
): IssueOptions {
  takeArguments("bridge-ca issue", [...positionals, ...rest], []);
  return {
    leaf: {
      type: knownWord("--type", needed("issue", "--type", values.type), TYPES),
      name: needed("issue", "--cn", values.cn),
      hosts: split(values.san),
      uris: split(values.uri),
      trustDomain: trustDomain(values["trust-domain"]),
      namespace: values.namespace ?? "default",
      crlUrl: crlUrl(values["crl-url"]),
      days: readDays(values.days, 90),
    },
    keyType: keyType(values["key-type"]) ?? "ecdsa-p384",
    out: needed("issue", "--out", values.out),
    ...caFiles(values),
    passphrase: passphrase(values, env),
    force: values.force ?? false,
  };
}
