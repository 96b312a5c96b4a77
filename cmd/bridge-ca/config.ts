import { DomainError } from "../../internal/base/errors.ts";
import { type FlagSpecs, type FlagValues, parseFlags } from "../../internal/cli/flags.ts";
import { nearestName } from "../../internal/cli/nearest-name.ts";
import { KEY_TYPES, type KeyType } from "../../internal/pki/key-pair.ts";
import { REVOCATION_REASONS, type RevocationReason } from "../../internal/pki/sign-revocation-list.ts";
import { isTrustDomain } from "../../internal/pki/trust-domain.ts";
import type { Command, PassphraseSource } from "./commands.ts";
import { type CommandName, flagSpecs, isCommandName } from "./flags.ts";
import { readDays, readWithin } from "./read-days.ts";

const USAGES = ["client", "server"] as const;

type Env = Readonly<Record<string, string | undefined>>;
type ValuesOf<N extends CommandName> = FlagValues<(typeof flagSpecs)[N]>;

/**
 * The command from the line and the environment.
 * @throws DomainError `invalid`, naming the flag
 */
export function readConfig(argv: readonly string[], env: Env): Command {
  const [word, ...rest] = argv;
  if (word === undefined || word === "--help" || word === "-h") return { type: "help", topic: undefined };
  if (word === "--version" || word === "version") return { type: "version" };
  if (word === "help") return { type: "help", topic: rest[0] === undefined ? undefined : commandName(rest[0]) };
  const name = commandName(word);
  const { ask, values, positionals, rest: behind = [] } = parseFlags(flagSpecs[name] as FlagSpecs, rest, env);
  if (ask === "help") return { type: "help", topic: name };
  if (ask === "version") return { type: "version" };
  const files = [...positionals, ...behind];
  if (name === "inspect") {
    if (files.length === 0) throw usage("inspect", "inspect needs a file");
    return { type: "inspect", files };
  }
  if (files[0] !== undefined) throw usage(name, `unexpected argument ${JSON.stringify(files[0])}`);
  return READERS[name](values as never, env);
}

const READERS: { readonly [N in Exclude<CommandName, "inspect">]: (values: ValuesOf<N>, env: Env) => Command } = {
  init: (values, env) => ({
    type: "init",
    name: needed("init", "--name", values.name),
    out: values.out ?? "certs/",
    trustDomain: trustDomain(values["trust-domain"]),
    keyType: keyType(values["key-type"]) ?? "ecdsa-p384",
    days: readDays(values.days, 3650),
    passphrase: passphrase(values, env),
  }),
  issue: (values, env) => ({
    type: "issue",
    leaf: {
      type: oneOf("issue", "--type", ["server", "client", "sidecar"], needed("issue", "--type", values.type)),
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
  }),
  "cross-sign": (values, env) => ({
    type: "cross-sign",
    ca: values["signer-ca"] ?? "certs/ca.crt",
    caKey: values["signer-key"] ?? keyBeside(values["signer-ca"] ?? "certs/ca.crt"),
    target: needed("cross-sign", "--target-ca", values["target-ca"]),
    limits: {
      usage: oneOf("cross-sign", "--usage", USAGES, values.usage ?? "client"),
      permitDns: split(values["permit-dns"]),
      permitIp: split(values["permit-ip"]),
      trustDomain: trustDomain(values["trust-domain"]),
      crlUrl: crlUrl(values["crl-url"]),
      days: readDays(values.days, 365),
    },
    out: needed("cross-sign", "--out", values.out),
    passphrase: passphrase(values, env),
    force: values.force ?? false,
  }),
  bundle: (values) => ({
    type: "bundle",
    ...caFiles(values),
    previous: values["previous-ca"] ?? [],
    crossSigned: values["cross-signed"] ?? [],
    out: needed("bundle", "--out", values.out),
    force: values.force ?? false,
  }),
  "jwt-keygen": (values) => ({ type: "jwt-keygen", out: needed("jwt-keygen", "--out", values.out) }),
  renew: (values, env) => {
    const cert = needed("renew", "--cert", values.cert);
    if (values["keep-key"] && values["key-type"]) throw usage("renew", "--keep-key and --key-type exclude each other");
    return {
      type: "renew",
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
  },
  verify: (values) => ({
    type: "verify",
    cert: needed("verify", "--cert", values.cert),
    bundle: needed("verify", "--bundle", values.bundle),
    lists: values.crl ?? [],
    usage: values.usage === undefined ? undefined : oneOf("verify", "--usage", USAGES, values.usage),
  }),
  revoke: (values) => ({
    type: "revoke",
    cert: needed("revoke", "--cert", values.cert),
    reason: reason(values.reason),
    ...caFiles(values),
  }),
  crl: (values, env) => ({
    type: "crl",
    out: needed("crl", "--out", values.out),
    days: readDays(values.days, 30),
    ...caFiles(values),
    passphrase: passphrase(values, env),
    force: values.force ?? false,
  }),
};

function commandName(word: string): CommandName {
  if (isCommandName(word)) return word;
  const nearest = nearestName(word, Object.keys(flagSpecs));
  throw new DomainError("invalid", `unknown command ${JSON.stringify(word)}`, {
    fields: { hint: nearest === undefined ? "bridge-ca --help lists the commands" : `did you mean ${nearest}?` },
  });
}

function usage(command: CommandName, message: string): DomainError {
  return new DomainError("invalid", message, { fields: { hint: `bridge-ca ${command} --help shows examples` } });
}

function needed(command: CommandName, flag: string, value: string | undefined): string {
  if (value === undefined || value === "") throw usage(command, `${command} needs ${flag}`);
  return value;
}

function oneOf<T extends string>(command: CommandName, flag: string, words: readonly T[], text: string): T {
  const found = words.find((word) => word === text);
  if (found === undefined) throw usage(command, `${flag} is one of ${words.join(", ")}, not ${JSON.stringify(text)}`);
  return found;
}

/** The usual CA, and the key beside its certificate. */
function caFiles(values: { readonly ca?: string; readonly "ca-key"?: string }) {
  const ca = values.ca ?? "certs/ca.crt";
  return { ca, caKey: values["ca-key"] ?? keyBeside(ca) };
}

function keyBeside(certificate: string): string {
  return `${certificate.replace(/\.(?:crt|cert|pem|cer)$/, "")}.key`;
}

/** Names without blanks or commas: `a,b` is two of them. */
function split(values: readonly string[] | undefined): readonly string[] {
  return (values ?? []).flatMap((value) => value.split(",")).flatMap((part) => part.trim() || []);
}

function keyType(text: string | undefined): KeyType | undefined {
  if (text === undefined) return undefined;
  const letters = text.toLowerCase().replace(/[^a-z0-9]/g, "");
  const found = KEY_TYPES.find((type) => type.replace("-", "") === letters || type.startsWith(`${letters}-`));
  if (found === undefined)
    throw new DomainError("invalid", `--key-type is one of ${KEY_TYPES.join(", ")}, not ${text}`);
  return found;
}

function reason(text = "unspecified"): RevocationReason {
  const words = Object.keys(REVOCATION_REASONS) as RevocationReason[];
  return oneOf("revoke", "--reason", words, text);
}

function trustDomain(text: string | undefined): string | undefined {
  const domain = text?.replace(/^spiffe:\/\//, "");
  if (domain === undefined || isTrustDomain(domain)) return domain;
  throw new DomainError("invalid", `--trust-domain takes lower-case letters, digits, dots and dashes, not ${text}`);
}

function crlUrl(text: string | undefined): string | undefined {
  if (text === undefined || (URL.canParse(text) && /^https?:\/\/[\x21-\x7e]+$/.test(text))) return text;
  throw new DomainError("invalid", `--crl-url takes a URL of http or https, not ${JSON.stringify(text)}`);
}

function passphrase(
  values: { readonly "passphrase-file"?: string; readonly "passphrase-fd"?: number },
  env: Env,
): PassphraseSource {
  const { "passphrase-file": path, "passphrase-fd": fd } = values;
  if (path !== undefined && fd !== undefined) {
    throw new DomainError("invalid", "--passphrase-file and --passphrase-fd exclude each other");
  }
  if (path !== undefined) return { type: "file", path };
  if (fd !== undefined && (fd < 0 || fd > 1_000_000)) {
    throw new DomainError("invalid", `--passphrase-fd takes the number of an open descriptor, not ${fd}`);
  }
  if (fd !== undefined) return { type: "fd", fd };
  const text = env["BRIDGE_CA_PASSPHRASE"];
  return text === undefined || text === "" ? { type: "prompt" } : { type: "environment", text };
}
