import type { CommandFlags, FlagSection } from "../../../internal/cli/command/command.ts";

/** The source of the passphrase of a CA's key. */
export const PASSPHRASE_FLAGS = {
  "passphrase-file": { type: "string", value: "FILE", help: "the first line of a file", complete: "file" },
  "passphrase-fd": { type: "number", value: "N", help: "the first line of an open descriptor" },
} as const satisfies CommandFlags;

export const PASSPHRASE_SECTION: FlagSection = {
  heading: "bridge-ca asks for the passphrase of the CA's key, unless it is in BRIDGE_CA_PASSPHRASE or given by:",
  names: Object.keys(PASSPHRASE_FLAGS),
};

/** The files of the CA. */
export const CA_FLAGS = {
  ca: { type: "string", value: "FILE", help: "the CA's certificate (certs/ca.crt)", complete: "file" },
  "ca-key": { type: "string", value: "FILE", help: "its key (beside the certificate, with .key)", complete: "file" },
} as const satisfies CommandFlags;

export const FORCE_FLAG = {
  force: { type: "boolean", help: "replace existing files" },
} as const satisfies CommandFlags;

/** The type of a new key; `renew` keeps the old type by default. */
export const KEY_TYPE_FLAG = {
  "key-type": {
    type: "string",
    value: "TYPE",
    help: "ecdsa-p384 (the default) or rsa-4096",
    complete: ["ecdsa-p384", "rsa-4096"],
  },
} as const satisfies CommandFlags;

/** The URL of the CA's revocation list, which is written into the certificate. */
export const CRL_URL_FLAG = {
  "crl-url": { type: "string", value: "URL", help: "where the CA's revocation list is served" },
} as const satisfies CommandFlags;
