import type { FlagSpecs } from "../../internal/cli/flags.ts";

const passphrase = {
  "passphrase-file": { type: "string" },
  "passphrase-fd": { type: "number" },
} as const;

const ca = {
  ca: { type: "string" },
  "ca-key": { type: "string" },
} as const;

const force = { force: { type: "boolean" } } as const;

/** The flags of each command. */
export const flagSpecs = {
  init: {
    name: { type: "string" },
    out: { type: "string" },
    "trust-domain": { type: "string" },
    "key-type": { type: "string" },
    days: { type: "number" },
    ...passphrase,
  },
  issue: {
    type: { type: "string" },
    cn: { type: "string" },
    san: { type: "list" },
    uri: { type: "list" },
    days: { type: "number" },
    "trust-domain": { type: "string" },
    namespace: { type: "string" },
    "crl-url": { type: "string" },
    "key-type": { type: "string" },
    out: { type: "string" },
    ...ca,
    ...passphrase,
    ...force,
  },
  "cross-sign": {
    "signer-ca": { type: "string" },
    "signer-key": { type: "string" },
    "target-ca": { type: "string" },
    usage: { type: "string" },
    "permit-dns": { type: "list" },
    "permit-ip": { type: "list" },
    "trust-domain": { type: "string" },
    "crl-url": { type: "string" },
    days: { type: "number" },
    out: { type: "string" },
    ...passphrase,
    ...force,
  },
  bundle: {
    ca: { type: "string" },
    "previous-ca": { type: "list" },
    "cross-signed": { type: "list" },
    out: { type: "string" },
    ...force,
  },
  "jwt-keygen": { out: { type: "string" } },
  renew: {
    cert: { type: "string" },
    key: { type: "string" },
    "keep-key": { type: "boolean" },
    "key-type": { type: "string" },
    within: { type: "string" },
    days: { type: "number" },
    "from-ca": { type: "string" },
    ...ca,
    ...passphrase,
  },
  verify: {
    cert: { type: "string" },
    bundle: { type: "string" },
    crl: { type: "list" },
    usage: { type: "string" },
  },
  revoke: { cert: { type: "string" }, reason: { type: "string" }, ...ca },
  crl: { out: { type: "string" }, days: { type: "number" }, ...ca, ...passphrase, ...force },
  inspect: {},
} as const satisfies Readonly<Record<string, FlagSpecs>>;

export type CommandName = keyof typeof flagSpecs;

export function isCommandName(word: string): word is CommandName {
  return Object.hasOwn(flagSpecs, word);
}
