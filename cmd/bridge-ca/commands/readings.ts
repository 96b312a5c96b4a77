import { DomainError } from "../../../internal/base/errors.ts";
import { choiceOf, usageError } from "../../../internal/cli/command/arguments.ts";
import { KEY_TYPES, type KeyType } from "../../../internal/pki/key-pair.ts";
import { isTrustDomain } from "../../../internal/pki/trust-domain.ts";
import type { PassphraseSource } from "../ca/passphrase.ts";

/** The value of a required flag. @throws DomainError `invalid` if it is missing or empty */
export function needed(command: string, flag: string, value: string | undefined): string {
  if (value === undefined || value === "") throw usageError(`bridge-ca ${command}`, `${command} needs ${flag}`);
  return value;
}

/** The CA's certificate, `certs/ca.crt` by default, and its key, by default beside the certificate. */
export function caFiles(values: { readonly ca?: string; readonly "ca-key"?: string }) {
  const ca = values.ca ?? "certs/ca.crt";
  return { ca, caKey: values["ca-key"] ?? keyBeside(ca) };
}

export function keyBeside(certificate: string): string {
  return `${certificate.replace(/\.(?:crt|cert|pem|cer)$/, "")}.key`;
}

/** Splits at commas; drops blanks around the parts, and empty parts. */
export function split(values: readonly string[] | undefined): readonly string[] {
  return (values ?? []).flatMap((value) => value.split(",")).flatMap((part) => part.trim() || []);
}

/** Reads `--key-type`: ignores case and punctuation; `ecdsa` or `rsa` alone is enough. @throws DomainError `invalid` */
export function keyType(text: string | undefined): KeyType | undefined {
  if (text === undefined) return undefined;
  const letters = text.toLowerCase().replace(/[^a-z0-9]/g, "");
  const found = KEY_TYPES.find((type) => type.replace("-", "") === letters || type.startsWith(`${letters}-`));
  if (found === undefined) throw new DomainError("invalid", `--key-type takes ${choiceOf(KEY_TYPES)}, not ${text}`);
  return found;
}

/** `--trust-domain`, with `spiffe://` or without it. @throws DomainError `invalid` */
export function trustDomain(text: string | undefined): string | undefined {
  const domain = text?.replace(/^spiffe:\/\//, "");
  if (domain === undefined || isTrustDomain(domain)) return domain;
  throw new DomainError("invalid", `--trust-domain takes lower-case letters, digits, dots and dashes, not ${text}`);
}

/** `--crl-url`. @throws DomainError `invalid` */
export function crlUrl(text: string | undefined): string | undefined {
  if (text === undefined || (URL.canParse(text) && /^https?:\/\/[\x21-\x7e]+$/.test(text))) return text;
  throw new DomainError("invalid", `--crl-url takes a URL of http or https, not ${JSON.stringify(text)}`);
}

/** The source of the passphrase; never the command line, which every user of the machine can read. */
export function passphrase(
  values: { readonly "passphrase-file"?: string; readonly "passphrase-fd"?: number },
  env: Readonly<Record<string, string | undefined>>,
): PassphraseSource {
  const { "passphrase-file": path, "passphrase-fd": fd } = values;
  if (path !== undefined && fd !== undefined) {
    throw new DomainError("invalid", "--passphrase-file and --passphrase-fd are mutually exclusive");
  }
  if (path !== undefined) return { type: "file", path };
  if (fd !== undefined && (fd < 0 || fd > 1_000_000)) {
    throw new DomainError("invalid", `--passphrase-fd takes the number of an open descriptor, not ${fd}`);
  }
  if (fd !== undefined) return { type: "fd", fd };
  const text = env["BRIDGE_CA_PASSPHRASE"];
  return text === undefined || text === "" ? { type: "prompt" } : { type: "environment", text };
}
